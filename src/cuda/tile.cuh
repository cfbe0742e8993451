// SPDX-License-Identifier: Apache-2.0
// What the GEMM kernels share: the stack of tiles that a program works on, and the way a finished tile leaves.
// A thread owns N elements of its block's tile, in registers, by constant indices only.
#pragma once

#include "cuda/arguments.h"
#include "cuda/device.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

SAMEBITS_DEVICE float round_out(OutRounding out, float x) {
  const std::uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu;
  if (out == OutRounding::none || magnitude >= 0x7f800000u) return x;
  if (out == OutRounding::bf16) return float_of((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
  if (magnitude < 0x38800000u) {  // subnormal in FP16: 0.5f has the same last place, 2^-24
    const float y = add_rn(add_rn(float_of(magnitude), 0.5f), -0.5f);
    return float_of(bits_of(y) | (bits & 0x80000000u));
  }
  const std::uint32_t rounded = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) & 0xffffe000u;
  return float_of((rounded >= 0x47800000u ? 0x7f800000u : rounded) | (bits & 0x80000000u));
}
SAMEBITS_DEVICE double round_out(OutRounding, double x) { return x; }

template <class T>
SAMEBITS_DEVICE T scaled_c(const Finish<T>& f, T beta, Offset i, Offset j) {
  const T old = f.c[i * f.c_row + j * f.c_col];
  return beta == T(1) ? old : mul_rn(beta, old);
}

template <class T>
SAMEBITS_DEVICE T finish_element(const Finish<T>& f, T t, Offset i, Offset j) {
  const bool scaled = f.alpha != T(1);
  if (f.beta != T(0)) {
    const T c = scaled_c(f, f.beta, i, j);
    t = f.fused ? fma_rn(f.alpha, t, c) : add_rn(scaled ? mul_rn(f.alpha, t) : t, c);
  } else if (scaled) {
    t = mul_rn(f.alpha, t);
  }
  if (f.bias) t = add_rn(t, f.bias[i * f.bias_row + j * f.bias_col]);
  return round_out(f.out, t);
}

// Walks the runs of a piece while positions go by, and keeps the stack of tiles that their merges work on. Little is held in
// registers: what a merge needs is computed when it comes. A level holds elements x threads values, a thread's own in
// vectors that neighbours continue.
template <class S>
struct Cursor {
  using T = typename S::value;
  using V = Vector<T>;
  static constexpr int N = S::elements;
  std::uint32_t run, last_run;   // the current run, and the piece's last
  std::uint32_t first, end;      // the run's positions
  int height = 0;

  template <class Arguments>
  SAMEBITS_DEVICE static T* level(const Arguments& g, int height) {
    T* const place = height < g.shared_levels
                         ? reinterpret_cast<T*>(shared_memory()) + S::stages * S::stage + static_cast<Offset>(height) * (N * S::threads)
                         : static_cast<T*>(g.stack) + (static_cast<Offset>(block_index()) * g.stack_levels + (height - g.shared_levels)) * (N * S::threads);
    return place + thread_index() * V::size;
  }
  SAMEBITS_DEVICE static void push(T* to, const T (&tile)[N]) {
#pragma unroll
    for (int i = 0; i < N / V::size; ++i) {
      V v;
#pragma unroll
      for (int j = 0; j < V::size; ++j) v.v[j] = tile[i * V::size + j];
      store(reinterpret_cast<V*>(to + i * V::size * S::threads), v);
    }
  }
  // tile <- popped + tile
  SAMEBITS_DEVICE static void merge(const T* from, T (&tile)[N]) {
#pragma unroll
    for (int i = 0; i < N / V::size; ++i) {
      const V v = load(reinterpret_cast<const V*>(from + i * V::size * S::threads));
#pragma unroll
      for (int j = 0; j < V::size; ++j) tile[i * V::size + j] = add_rn(v.v[j], tile[i * V::size + j]);
    }
  }

  SAMEBITS_DEVICE void start(const DeviceRun* runs, T (&tile)[N]) {
    const DeviceRun& r = runs[run];
    first = r.begin;
    end = r.begin + r.length;
    if (!r.resume) {
      const T zero = r.negative ? T(-0.0) : T(0);
#pragma unroll
      for (int i = 0; i < N; ++i) tile[i] = zero;
    }
  }
  // The run's positions are done: merge, push, and on to the next run that has positions.
  template <class Arguments>
  SAMEBITS_DEVICE void finish(const Arguments& g, T (&tile)[N]) {
    do {
      const DeviceRun& r = g.runs[run];
#pragma unroll 1
      for (std::uint32_t i = 0; i < r.merges; ++i) merge(level(g, --height), tile);
      if (r.push) push(level(g, height++), tile);
      if (run == last_run) return;
      ++run;
      start(g.runs, tile);
    } while (first == end);
  }
  template <class Arguments>
  SAMEBITS_DEVICE void begin(const Arguments& g, T (&tile)[N]) {
    height = g.seeded && run == 0;
    start(g.runs, tile);
    if (first == end) finish(g, tile);
  }
};

// Tile number -> tile of C and piece. Blocks that run at the same time share rows and columns: groups of eight rows of tiles.
struct TilePlace {
  int row, column, piece;
};
template <class Arguments>
SAMEBITS_DEVICE TilePlace tile_place(const Arguments& g, int number) {
  constexpr int group = 8;
  const int tiles = g.tiles_m * g.tiles_n, piece = number / tiles;
  const int in = number % tiles, band = in / (group * g.tiles_n), rest = in % (group * g.tiles_n);
  const int height = g.tiles_m - band * group < group ? g.tiles_m - band * group : group;
  return {band * group + rest % height, rest / height, piece};
}

// V neighbouring elements of a row, from a tile that may stand over the edge of C.
template <int V, class T, class Out>
SAMEBITS_DEVICE void write_row(const GemmArguments<T, Out>& g, int piece, Offset i, Offset j, const T* values) {
  if (i >= g.m) return;
  if (g.partial) {
    T* to = g.partial + (static_cast<Offset>(piece) * g.m + i) * g.n;
    for (int v = 0; v < V; ++v)
      if (j + v < g.n) to[j + v] = values[v];
    return;
  }
  if constexpr (V == Vector<Out>::size) {
    if (g.finish.c_vector && j + V <= g.n) {
      Vector<Out> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out.v[v] = finish_element(g.finish, static_cast<Out>(values[v]), i, j + v);
      store(reinterpret_cast<Vector<Out>*>(g.finish.c + i * g.finish.c_row + j), out);
      return;
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (j + v < g.n)
      g.finish.c[i * g.finish.c_row + (j + v) * g.finish.c_col] = finish_element(g.finish, static_cast<Out>(values[v]), i, j + v);
}

// Hands a finished tile over by way of shared memory, some rows at a time: what a thread writes to C then continues what its
// neighbour writes, and the epilogue stands in the code once for all elements of a thread.
template <class K, class T, class Out>
SAMEBITS_DEVICE void write_tile(const GemmArguments<T, Out>& g, const K& kernel, const TilePlace& place, const T (&tile)[K::S::elements]) {
  using S = typename K::S;
  using V = Vector<T>;
  constexpr int vectors = S::BN / V::size, pitch = S::BN + K::staging_pad, rows = S::BM / K::parts;
  static_assert(rows * pitch * static_cast<int>(sizeof(T)) <= S::pipeline_bytes);
  T* const staging = reinterpret_cast<T*>(shared_memory());  // (rows, pitch)
#pragma unroll
  for (int part = 0; part < K::parts; ++part) {
    sync_threads();
    kernel.put(part, staging, pitch, tile);
    sync_threads();
#pragma unroll 1
    for (int e = thread_index(); e < rows * vectors; e += S::threads) {
      const V v = load(reinterpret_cast<const V*>(staging + e / vectors * pitch) + e % vectors);
      write_row<V::size>(g, place.piece, static_cast<Offset>(place.row) * S::BM + K::row_of(part, e / vectors),
                         static_cast<Offset>(place.column) * S::BN + e % vectors * V::size, v.v);
    }
  }
}

// epilogue(c=seed): what the first chain starts from, as a level of the stack. Run 0 merges it with -0, which changes nothing.
template <class K, class T, class Out>
SAMEBITS_DEVICE void put_seed(const GemmArguments<T, Out>& g, const TilePlace& place, T* level) {
  using S = typename K::S;
  const K kernel(fresh(thread_index()));
  using V = Vector<T>;
#pragma unroll 1
  for (int e = 0; e < S::elements; e += V::size) {
    V v;
#pragma unroll
    for (int k = 0; k < V::size; ++k) {
      const int i = place.row * S::BM + kernel.element_row(e + k), j = place.column * S::BN + kernel.element_column(e + k);
      v.v[k] = g.runs[1].negative ? T(-0.0) : T(0);
      if (g.finish.seed_beta != Out(0) && i < g.m && j < g.n) v.v[k] = static_cast<T>(scaled_c(g.finish, g.finish.seed_beta, i, j));
    }
    store(reinterpret_cast<V*>(level + e * S::threads), v);
  }
}

// The part that all GEMM kernels have in common: tiles of C one after another, stages of K through shared memory, runs and
// merges. K gives the shape S, the loaders of A and B, and
//   K(thread)                                  knows where the thread's elements lie in the tile
//   element_row(e), element_column(e)          where element e of the thread's lies in the tile
//   chain(stage, offset, count, op, tile)      joins `count` positions of the stage, from `offset`
//   put(part, staging, tile)                   writes this thread's elements of some rows, `row_of(part, i)`, of the tile
template <class K, class T, class Out>
SAMEBITS_DEVICE void gemm_blocks(const GemmArguments<T, Out>& g) {
  using S = typename K::S;
  T* const shared = reinterpret_cast<T*>(shared_memory());
  const K kernel(thread_index());
  Cursor<S> cursor;

  for (int number = block_index(); number < g.tiles_m * g.tiles_n * g.piece_count; number += block_count()) {
    const Piece piece = g.pieces[tile_place(g, number).piece];
    cursor.run = piece.first_run;
    cursor.last_run = piece.last_run - 1;
    if (g.seeded && piece.first_run == 0) put_seed<K>(g, tile_place(g, fresh(number)), Cursor<S>::level(g, 0));
    const std::uint32_t first = g.runs[cursor.run].begin, last = g.runs[cursor.last_run].begin + g.runs[cursor.last_run].length;
    typename K::LoadA load_a(g.a, tile_place(g, number).row * S::BM, g.m, first);
    typename K::LoadB load_b(g.b, tile_place(g, number).column * S::BN, g.n, first);
    const auto fetch = [&](std::uint32_t step) {
      const int left = static_cast<int>(last - first) - static_cast<int>(step * S::BK);
      if (left > 0) {
        T* stage = shared + step % S::stages * S::stage;
        load_a.fetch(g.a, stage, left);
        load_b.fetch(g.b, stage + K::offset_b, left);
      }
      copy_commit();
    };
#pragma unroll
    for (int i = 0; i < S::stages - 1; ++i) fetch(i);

    T tile[S::elements];
    cursor.begin(g, tile);
    std::uint32_t at = first;
    for (std::uint32_t step = 0; at < last; ++step) {
      copy_wait<S::stages - 2>();
      sync_threads();  // this stage is there for all, and all have left the stage that is filled next
      fetch(step + S::stages - 1);
      const T* stage = shared + step % S::stages * S::stage;
      const std::uint32_t stage_first = at, stop = last - at < S::BK ? last : at + S::BK;
      while (at < stop) {
        if (at < cursor.first) {  // padding between runs
          at = cursor.first < stop ? cursor.first : stop;
          continue;
        }
        const int count = static_cast<int>((cursor.end < stop ? cursor.end : stop) - at);
        RunOp op = RunOp::fma;
        if constexpr (K::mixed) op = g.runs[cursor.run].op;
        kernel.chain(stage, static_cast<int>(at - stage_first), count, op, tile);
        at += count;
        if (at == cursor.end) cursor.finish(g, tile);
      }
    }
    write_tile(g, kernel, tile_place(g, number), tile);
    sync_threads();  // the next tile fills stage 0
  }
}

// Adds the pieces from left to right and finishes, one thread an element.
template <class T, class Out>
struct Fold {
  static constexpr int threads = 256;
  SAMEBITS_DEVICE static void run(const FoldArguments<T, Out>& g) {
    const Offset elements = static_cast<Offset>(g.m) * g.n;
    const T alpha = static_cast<T>(g.alpha);
    for (Offset e = static_cast<Offset>(block_index()) * threads + thread_index(); e < elements;
         e += static_cast<Offset>(block_count()) * threads) {
      const Offset i = e / g.n, j = e % g.n;
      T t = T(0);
      int piece = 0;
      if (g.started) {
        t = g.partial[e];
        piece = 1;
      } else if (g.first_beta != Out(0)) {
        t = static_cast<T>(scaled_c(g.finish, g.first_beta, i, j));
      } else if (g.count > 0) {
        t = g.alpha == Out(1) ? g.partial[e] : mul_rn(alpha, g.partial[e]);
        piece = 1;
      }
      for (; piece < g.count; ++piece) {
        const T p = g.partial[piece * elements + e];
        t = g.alpha == Out(1) ? add_rn(t, p) : g.fused ? fma_rn(alpha, p, t) : add_rn(t, mul_rn(alpha, p));
      }
      if (!g.last) {
        g.partial[e] = t;
        continue;
      }
      g.finish.c[i * g.finish.c_row + j * g.finish.c_col] = finish_element(g.finish, static_cast<Out>(t), i, j);
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
