// SPDX-License-Identifier: Apache-2.0
// The microkernel, once for all instruction sets. Included only by kernels_*.cc, each of which compiles it with its own
// flags; therefore everything here has internal linkage.
//
// A vector type V provides: T, W, Reg, Mask; zero, splat, broadcast, load, load_masked, store, store_masked, add,
// fused(acc, a, b) and unfused(acc, a, b), which return the new acc; their a is a vector or the address of a value to
// broadcast; mask(n), prefetch, prefetch_far.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/kernel.h"

namespace samebits::cpu {
namespace {

// f(I) for I = 0 .. N-1 with I a constant: gcc 12 keeps an array of accumulators in registers only when every index is one.
template <int N, class F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

// Addresses of rows of A: packed rows are neighbours, strided ones are reached from few base and index registers.
template <class T, int MR>
struct PackedRows {
  const char* base;
  Index step;
  [[gnu::always_inline]] PackedRows(const TileCall<T>& t, const Step& s)
      : base(reinterpret_cast<const char*>(t.a + Index(s.first) * t.a_k)),
        step(Index(s.stride) * t.a_k * Index(sizeof(T))) {}
  template <int I>
  [[gnu::always_inline]] const T* row() const {
    return reinterpret_cast<const T*>(base) + I;
  }
  [[gnu::always_inline]] void advance() { base += step; }
};

template <class T, int MR>
struct StridedRows {
  const char *base, *base8, *last;  // rows 0, 8 and MR-1; the last is clamped, so that a tile of fewer rows reads no further
  Index r1, r3, r5, r7, step;
  [[gnu::always_inline]] StridedRows(const TileCall<T>& t, const Step& s) {
    r1 = t.a_row * Index(sizeof(T));
    step = Index(s.stride) * t.a_k * Index(sizeof(T));
    base = reinterpret_cast<const char*>(t.a + Index(s.first) * t.a_k);
    base8 = base + 8 * r1;
    last = base + (t.rows < MR ? t.rows - 1 : MR - 1) * r1;
    r3 = 3 * r1, r5 = 5 * r1, r7 = 7 * r1;
    // Opaque to the compiler: otherwise it makes one pointer a row and spills them.
    asm("" : "+r"(r1));
    asm("" : "+r"(r3));
    if constexpr (MR > 6) asm("" : "+r"(r5));
    if constexpr (MR > 8) asm("" : "+r"(r7));
    if constexpr (MR > 9) asm("" : "+r"(base8));
    asm("" : "+r"(last));
  }
  template <int I>
  [[gnu::always_inline]] const T* row() const {
    const char* p = nullptr;
    if constexpr (I == MR - 1) {
      p = last;
    } else {
      constexpr int j = I % 8;
      p = I < 8 ? base : base8;
      if constexpr (j == 1) p += r1;
      if constexpr (j == 2) p += 2 * r1;
      if constexpr (j == 3) p += r3;
      if constexpr (j == 4) p += 4 * r1;
      if constexpr (j == 5) p += r5;
      if constexpr (j == 6) p += 2 * r3;
      if constexpr (j == 7) p += r7;
    }
    return reinterpret_cast<const T*>(p);
  }
  [[gnu::always_inline]] void advance() {
    base += step;
    last += step;
    if constexpr (MR > 9) base8 += step;
  }
};

// What a step does before and after its chain, to a tile of N vectors.
template <class V, int N>
[[gnu::always_inline]] inline typename V::T* stack_entry(const TileCall<typename V::T>& t, std::uint32_t s) {
  return (s < t.low_entries ? t.low : t.high) + Index(s) * (N * V::W);
}

template <class V, int N>
[[gnu::always_inline]] inline void load_tile(const typename V::T* p, typename V::Reg (&acc)[N]) {
  unroll<N>([&](auto x) __attribute__((always_inline)) { acc[x] = V::load(p + x * V::W); });
}

template <class V, int N>
[[gnu::always_inline]] inline void begin_step(const TileCall<typename V::T>& t, const Step& s, std::uint32_t& top,
                                              typename V::Reg (&acc)[N]) {
  using T = typename V::T;
  switch (s.start) {
    case Step::Start::zero:
      unroll<N>([&](auto x) __attribute__((always_inline)) { acc[x] = V::zero(); });
      break;
    case Step::Start::negative_zero:
      unroll<N>([&](auto x) __attribute__((always_inline)) { acc[x] = V::splat(T(-0.0)); });
      break;
    case Step::Start::seed:
      load_tile<V>(t.seed, acc);
      break;
    case Step::Start::pop:
      load_tile<V>(stack_entry<V, N>(t, --top), acc);
      break;
    case Step::Start::resume:
      break;
  }
}

template <class V, int N>
[[gnu::always_inline]] inline void end_step(const TileCall<typename V::T>& t, const Step& s, std::uint32_t& top,
                                            typename V::Reg (&acc)[N]) {
  for (std::uint32_t n = s.merges; n != 0; --n) {
    const typename V::T* p = stack_entry<V, N>(t, --top);
    unroll<N>([&](auto x) __attribute__((always_inline)) { acc[x] = V::add(V::load(p + x * V::W), acc[x]); });
  }
  if (s.push) {
    typename V::T* p = stack_entry<V, N>(t, top++);
    unroll<N>([&](auto x) __attribute__((always_inline)) { V::store(p + x * V::W, acc[x]); });
  }
}

// Preconditions: 1 <= t.rows <= MR, (NV-1)*W < t.cols <= NV*W. Packed: A and B padded to MR x NR, B aligned to a vector.
template <class V, int MR, int NV, bool strided>
[[gnu::always_inline]] inline void one_tile(const TileCall<typename V::T>& t) {
  using T = typename V::T;
  using Reg = typename V::Reg;
  constexpr int W = V::W;

  Reg acc[MR * NV];                                  // (MR, NV)
  const auto last = V::mask(t.cols - (NV - 1) * W);  // columns of the last vector that exist

  unroll<MR * NV>([&](auto x) __attribute__((always_inline)) { acc[x] = V::zero(); });
  std::uint32_t top = t.entries;
  for (const Step* s = t.step; s != t.end; ++s) {
    begin_step<V>(t, *s, top, acc);
    std::conditional_t<strided, StridedRows<T, MR>, PackedRows<T, MR>> a(t, *s);
    const T* b = t.b + Index(s->first) * t.b_k;
    const Index b_step = Index(s->stride) * t.b_k;
    [[maybe_unused]] const T* ahead = t.ahead + Index(s->first) * t.ahead_k;
    [[maybe_unused]] const Index ahead_step = t.ahead_k;
    const auto load_b = [&](auto v) __attribute__((always_inline)) {
      if constexpr (!strided)
        return V::load(b + v * W);
      else if constexpr (v == NV - 1)
        return V::load_masked(b + v * W, last);
      else
        return V::loadu(b + v * W);
    };
    // One value of k: the shorter side of the tile stays in registers, the other is streamed.
    const auto rank1 = [&](auto multiply_add) __attribute__((always_inline)) {
      if constexpr (NV == 1) {
        const Reg b0 = load_b(std::integral_constant<int, 0>{});
        unroll<MR>([&](auto i) __attribute__((always_inline)) { acc[i] = multiply_add(acc[i], a.template row<i>(), b0); });
      } else if constexpr (MR > NV) {
        Reg bv[NV];
        unroll<NV>([&](auto v) __attribute__((always_inline)) { bv[v] = load_b(v); });
        unroll<MR>([&](auto i) __attribute__((always_inline)) {
          const Reg ai = V::broadcast(a.template row<i>());
          unroll<NV>([&](auto v)
                         __attribute__((always_inline)) { acc[i * NV + v] = multiply_add(acc[i * NV + v], ai, bv[v]); });
        });
      } else {
        Reg ai[MR];
        unroll<MR>([&](auto i) __attribute__((always_inline)) { ai[i] = V::broadcast(a.template row<i>()); });
        unroll<NV>([&](auto v) __attribute__((always_inline)) {
          const Reg bv = load_b(v);
          unroll<MR>([&](auto i)
                         __attribute__((always_inline)) { acc[i * NV + v] = multiply_add(acc[i * NV + v], ai[i], bv); });
        });
      }
      if constexpr (strided && NV >= 4)
        unroll<NV * W* int(sizeof(T)) / 64>([&](auto l) __attribute__((always_inline)) {
          V::prefetch(b + 2 * NV * W + l * (64 / int(sizeof(T))));
        });
      if constexpr (!strided) {
        __builtin_prefetch(ahead, 0, 2);
        __builtin_prefetch(ahead + t.ahead_next, 0, 2);
        ahead += ahead_step;
      }
      a.advance();
      b += b_step;
    };
    if (s->mul) {
      for (std::uint32_t n = s->length; n != 0; --n)
        rank1([](Reg c, auto x, Reg y) __attribute__((always_inline)) { return V::unfused(c, x, y); });
    } else {
      for (std::uint32_t n = s->length; n != 0; --n)
        rank1([](Reg c, auto x, Reg y) __attribute__((always_inline)) { return V::fused(c, x, y); });
    }
    end_step<V>(t, *s, top, acc);
  }

  if (t.c == nullptr) return;
  const bool whole = t.cols == NV * W;  // masked stores are slow on some processors
  unroll<MR>([&](auto i) __attribute__((always_inline)) {
    if (i < t.rows) {
      T* c = t.c + i * t.c_row;
      unroll<NV - 1>([&](auto v) __attribute__((always_inline)) { V::storeu(c + v * W, acc[i * NV + v]); });
      if (whole)
        V::storeu(c + (NV - 1) * W, acc[i * NV + NV - 1]);
      else
        V::store_masked(c + (NV - 1) * W, last, acc[i * NV + NV - 1]);
    }
  });
}

template <class V, int MR, int NV, bool strided>
void tile(const TileCall<typename V::T>& t) {
  one_tile<V, MR, NV, strided>(t);
}

// sum[j] <- sum[j] + x[0]*b[0][j] + ... + x[K-1]*b[K-1][j] for one row of C: the inner loop of a large matrix by a vector.
// From +0 where `from` is null.
template <class V, int K, bool mul>
void add_rows(const typename V::T* x, Index x_step, const typename V::T* b, Index b_step, int n, const typename V::T* from,
              typename V::T* to) {
  constexpr int NV = 2;
  typename V::Reg xk[K];
  const typename V::T* rows[K];
  unroll<K>([&](auto k) __attribute__((always_inline)) {
    xk[k] = V::broadcast(x + k * x_step);
    rows[k] = b + k * b_step;
  });
  for (int j = 0; j < n; j += NV * V::W) {
    typename V::Reg acc[NV];
    unroll<NV>([&](auto v)
                   __attribute__((always_inline)) { acc[v] = from != nullptr ? V::loadu(from + j + v * V::W) : V::zero(); });
    unroll<K>([&](auto k) __attribute__((always_inline)) {
      unroll<NV>([&](auto v) __attribute__((always_inline)) {
        const typename V::Reg bk = V::loadu(rows[k] + j + v * V::W);
        if constexpr (mul)
          acc[v] = V::unfused(acc[v], xk[k], bk);
        else
          acc[v] = V::fused(acc[v], xk[k], bk);
      });
    });
    unroll<NV>([&](auto v) __attribute__((always_inline)) { V::storeu(to + j + v * V::W, acc[v]); });
  }
}

// A row of strided tiles: t.cols is a multiple of NV*W. Along the rows
// of B, a block of K at a time, memory is read as fast as it comes; down a column of tiles it is not.
template <class V, int MR, int NV>
void sweep(const TileCall<typename V::T>& row) {
  using T = typename V::T;
  constexpr int NR = NV * V::W;
  if constexpr (MR == 1) {
    // Most blocks are eight values of one chain.
    const Step& s = *row.step;
    const bool popped = s.start == Step::Start::pop;
    if (row.step + 1 == row.end && s.length == 8 && s.merges == 0 && (popped || s.start == Step::Start::zero) &&
        row.entries == popped && (row.low_step == NR || !(popped || s.push)) && s.push == (row.c == nullptr)) {
      const auto add = s.mul ? add_rows<V, 8, true> : add_rows<V, 8, false>;
      return add(row.a + Index(s.first) * row.a_k, Index(s.stride) * row.a_k, row.b + Index(s.first) * row.b_k,
                 Index(s.stride) * row.b_k, row.cols, popped ? row.low : nullptr, s.push ? row.low : row.c);
    }
  }
  TileCall<T> t = row;
  t.cols = NR;
  for (int j = 0; j < row.cols; j += NR) {
    one_tile<V, MR, NV, true>(t);
    t.b += NR;
    t.low += t.low_step;
    if (t.c != nullptr) t.c += NR;
  }
}

// One row of C and columns_along_k columns; A and the columns of B are contiguous along k, t.b_k is the distance of the
// columns. Vectors of columns come from transposing in registers. The second half of the columns follows the first some
// cache lines behind, because columns a multiple of the page apart share a set of the cache.
template <class V>
void tile_along_k(const TileCall<typename V::T>& t) {
  using T = typename V::T;
  using Reg = typename V::Reg;
  constexpr int W = V::W, half = columns_along_k / 2, P = half / W, line = 64 / int(sizeof(T));
  constexpr Index lag = 8 * line, ahead = 64 * line;
  Index r1 = t.b_k * Index(sizeof(T)), r3 = 3 * r1, r5 = 5 * r1, r7 = 7 * r1;
  // Opaque to the compiler: see StridedRows.
  asm("" : "+r"(r1), "+r"(r3), "+r"(r5), "+r"(r7));
  const auto column = [&](const T* p, auto i) __attribute__((always_inline)) {
    const char* q = reinterpret_cast<const char*>(p);
    if constexpr (i == 1) q += r1;
    if constexpr (i == 2) q += 2 * r1;
    if constexpr (i == 3) q += r3;
    if constexpr (i == 4) q += 4 * r1;
    if constexpr (i == 5) q += r5;
    if constexpr (i == 6) q += 2 * r3;
    if constexpr (i == 7) q += r7;
    return reinterpret_cast<const T*>(q);
  };

  Reg acc[2 * P];
  unroll<2 * P>([&](auto x) __attribute__((always_inline)) { acc[x] = V::zero(); });
  std::uint32_t top = t.entries;
  for (const Step* s = t.step; s != t.end; ++s) {
    begin_step<V>(t, *s, top, acc);
    const auto chain = [&](auto multiply_add) __attribute__((always_inline)) {
      // W values of k, or fewer, of one half of the columns.
      const auto piece = [&](auto h, const T* x, const T* b, auto load, int count) __attribute__((always_inline)) {
        unroll<P>([&](auto p) __attribute__((always_inline)) {
          Reg r[W];
          unroll<W>([&](auto i) __attribute__((always_inline)) {
            r[i] = load(column(b, std::integral_constant<int, p * W + i>{}));
          });
          V::transpose(r);
          unroll<W>([&](auto i) __attribute__((always_inline)) {
            if (i < count) acc[h * P + p] = multiply_add(acc[h * P + p], x + i, r[i]);
          });
        });
      };
      const auto whole_line = [&](auto h, const T* x, const T* b) __attribute__((always_inline)) {
        unroll<half>([&](auto i) __attribute__((always_inline)) { V::prefetch_far(column(b + ahead, i)); });
        unroll<line / W>([&](auto l) __attribute__((always_inline)) {
          piece(
              h, x + l * W, b + l * W, [](const T* p) __attribute__((always_inline)) { return V::loadu(p); }, W);
        });
      };
      constexpr std::integral_constant<int, 0> first{};
      constexpr std::integral_constant<int, 1> second{};
      const Index length = s->length, whole = length / line * line,
                  behind = whole < 2 * lag ? whole / (2 * line) * line : lag;
      const T *x = t.a + s->first, *b = t.b + s->first, *x2 = x, *b2 = b + half * t.b_k;
      for (Index k = 0; k < behind; k += line, x += line, b += line) whole_line(first, x, b);
      for (Index k = behind; k < whole; k += line, x += line, b += line, x2 += line, b2 += line) {
        whole_line(first, x, b);
        whole_line(second, x2, b2);
      }
      for (Index k = 0; k < behind; k += line, x2 += line, b2 += line) whole_line(second, x2, b2);
      for (Index k = whole; k < length; k += W, x += W, b += W, b2 += W) {
        const int count = length - k < W ? int(length - k) : W;
        const auto load = [mask = V::mask(count)](const T* p) { return V::load_masked(p, mask); };
        piece(first, x, b, load, count);
        piece(second, x, b2, load, count);
      }
    };
    if (s->mul)
      chain([](Reg c, auto x, Reg y) __attribute__((always_inline)) { return V::unfused(c, x, y); });
    else
      chain([](Reg c, auto x, Reg y) __attribute__((always_inline)) { return V::fused(c, x, y); });
    end_step<V>(t, *s, top, acc);
  }
  if (t.c != nullptr) unroll<2 * P>([&](auto x) __attribute__((always_inline)) { V::storeu(t.c + x * W, acc[x]); });
}

// Panels. V provides transpose(Reg (&)[W]) and store_first(T*, Reg, n): the first n values.
template <class V>
void transpose_panel(const typename V::T* x, Index lane, int lanes, Index k_count, const std::uint32_t* positions,
                     typename V::T* panel, int width) {
  constexpr int W = V::W;
  const auto at = [&](Index k) { return panel + (positions != nullptr ? Index(positions[k]) : k) * width; };
  for (int l0 = 0; l0 < width; l0 += W) {
    const int have = lanes - l0 < W ? lanes - l0 : W;
    const typename V::T* row[W];
    unroll<W>([&](auto i) __attribute__((always_inline)) { row[i] = x + (l0 + (i < have ? i : 0)) * lane; });
    Index k = 0;
    for (; k + W <= k_count && have > 0; k += W) {
      typename V::Reg r[W];
      unroll<W>([&](auto i) __attribute__((always_inline)) { r[i] = V::loadu(row[i] + k); });
      V::transpose(r);
      unroll<W>([&](auto i) __attribute__((always_inline)) { V::storeu(at(k + i) + l0, r[i]); });
    }
    for (; k < k_count; ++k)
      for (int l = 0; l < W; ++l) at(k)[l0 + l] = l < have ? row[l][k] : typename V::T(0);
  }
}

template <class V>
void copy_panel(const typename V::T* x, Index k_stride, int lanes, Index k_count, const std::uint32_t* positions,
                typename V::T* panel, int width) {
  constexpr int W = V::W;
  for (Index k = 0; k < k_count; ++k) {
    const typename V::T* from = x + k * k_stride;
    typename V::T* to = panel + (positions != nullptr ? Index(positions[k]) : k) * width;
    int l = 0;
    for (; l + W <= lanes; l += W) V::storeu(to + l, V::loadu(from + l));
    if (l < width) {
      const int want = width - l;
      if (l < lanes) {
        V::store_first(to + l, V::load_masked(from + l, V::mask(lanes - l)), want < W ? want : W);
        l += W;
      }
      for (; l < width; ++l) to[l] = 0;
    }
  }
}

// entries[r] for r = 1, 2, ...: the smallest kernel of the list that has r rows. A strided kernel clamps its
// last row only, so in its lists neighbours differ by at most 2.
template <class V, int NV, bool strided, int... MR>
constexpr void fill(TileKernel<typename V::T>* entries) {
  int r = 1;
  (
      [&] {
        for (; r <= MR; ++r) entries[r] = tile<V, MR, NV, strided>;
      }(),
      ...);
}

template <class V, int NV, int... MR>
constexpr void fill_sweep(TileKernel<typename V::T>* entries) {
  int r = 1;
  (
      [&] {
        for (; r <= MR; ++r) entries[r] = sweep<V, MR, NV>;
      }(),
      ...);
}

}  // namespace
}  // namespace samebits::cpu
