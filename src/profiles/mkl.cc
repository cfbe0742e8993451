// SPDX-License-Identifier: Apache-2.0
// Intel MKL 2024.2, one thread, as probed: a black box, so these are rules that fit what was seen. Row-major C = op(A)
// op(B).
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// --- The path that MKL takes on AMD CPUs. Its vectors have 16 bytes.

class Amd {
 public:
  Amd(const Call& call) : c_(call), size_(size_of(call.dtype)), v_(16 / size_), areas_(call.m, call.n) {}

  Areas run() {
    areas_.rest(c_.bias ? "epilogue(c=seed) > mul" : "mul");
    if (c_.m == 1 || c_.n == 1) {
      gemv_call();
    } else if (c_.n < 12 || c_.m < 4) {
      small(0, c_.m, 0, c_.n, false);
    } else {
      main();
    }
    return std::move(areas_);
  }

 private:
  bool single() const { return c_.dtype == DType::f32; }

  // Leaves before the next multiple of 16 bytes.
  Index head(Index address) const { return (16 - address % 16) % 16 / size_; }
  // The same, but a full vector where the address is aligned.
  Index peel(Index address) const { return v_ - address % 16 / size_; }
  Index a_row(Index i, Index k = 0) const { return c_.a_offset + (i * c_.k + k) * size_; }
  Index b_column(Index j) const { return c_.b_offset + j * c_.k * size_; }

  std::string lanes(Index count, Index step, Index head) const {
    const std::string fold = !single() && count == 8 ? "tree(0 + 2 + (4 + 6) + (1 + 3 + (5 + 7)))" : "halves";
    return fmt::format("lanes({}{}{}, fold={}, tail=chain) > mul", count, step > count ? fmt::format(", step={}", step) : "",
                       head ? fmt::format(", head={}@0", head) : "", fold);
  }

  // y = M x for one row or column of C: M's rows are contiguous. The outputs go in fours; of those left the first and third
  // take the widest form.
  void gemv(Range rows, Range cols, bool down, Index matrix_row3, Index vector) {
    const Index begin = down ? rows.begin : cols.begin, end = down ? rows.end : cols.end,
                fours = begin + (end - begin) / 4 * 4;
    auto add = [&](Index from, Index to, std::string order) {
      const Range outputs{from, to, 1};
      areas_.add(down ? outputs : rows, down ? cols : outputs, std::move(order));
    };
    add(begin, fours, lanes(v_, v_, peel(matrix_row3)));
    const Index left = end - fours, x = peel(vector);
    for (Index o = 0; o < left; ++o) {
      const bool widest = single() ? o != 1 : left == 1 || o == 2;
      add(fours + o, fours + o + 1, widest ? lanes(8, 8, x) : single() || o == 0 ? lanes(4, 8, x) : lanes(2, 8, x));
    }
  }

  void gemv_call() {
    if (c_.n == 1 && !c_.trans_a) {
      gemv(areas_.all_rows(), areas_.all_cols(), true, a_row(3), c_.b_offset);
    } else if (c_.m == 1 && c_.trans_b) {
      gemv(areas_.all_rows(), areas_.all_cols(), false, b_column(3), c_.a_offset);
    } else {
      peeled(0, c_.m, 0, c_.n, false);
    }
  }

  // Dot kernels where both operands run along k (rows of A, columns of B), else sums over rows of B.
  void small(Index row, Index row_end, Index col, Index col_end, bool pieces) {
    const Index narrow = col + (col_end - col) / 4 * 4;
    if (!c_.trans_a && c_.trans_b) {
      const Index period = 16 / std::gcd<Index>(c_.k * size_, 16);  // rows with the same alignment
      for (Index r = row; r < std::min(row_end, row + period); ++r) {
        areas_.add({r, row_end, period}, {col, narrow, 1}, dot(r, v_, pieces));
        areas_.add({r, row_end, period}, {narrow, col_end, 1}, dot(r, 8, pieces));
      }
    } else if (!(c_.trans_a && c_.trans_b)) {
      peeled(row, row_end, col, col_end, pieces);
    }
  }

  // Pieces of K in double precision: 256; between 256 and 512 two halves, rounded to whole vectors.
  Index piece() const { return c_.k <= 256 ? c_.k : c_.k < 512 ? round_up(c_.k / 2, v_) : 256; }

  std::string dot(Index row, Index count, bool pieces) const {
    const std::string order = lanes(count, count, head(a_row(row)));
    if (!pieces || piece() == c_.k) return order;
    return fmt::format("{}chunks({}) > {}", c_.bias ? "epilogue(c=first) > " : "", piece(), order);
  }

  // Chains, but the elements of a row of C before a 16-byte address (if a full vector follows) add every other four k as a
  // sum.
  void peeled(Index row, Index row_end, Index col, Index col_end, bool pieces) {
    if (c_.k < 8) return;
    std::string text;
    const Index step = pieces ? piece() : c_.k;
    for (Index begin = 0; begin < c_.k; begin += step) {
      const Index end = std::min(c_.k, begin + step), eights = begin + (end - begin) / 8 * 8;
      for (Index k = begin; k < eights; k += 8) text = plus(then(std::move(text), leaves(k, k + 4)), leaves(k + 4, k + 8));
      text = then(std::move(text), leaves(eights, end));
    }
    const std::string order = (c_.bias ? "epilogue(c=seed) > " : "") + tree(text, "mul");
    if (c_.n == 1) {
      const Index h = head(c_.c_offset);
      if (h > 0 && c_.m >= h + v_) areas_.add({0, h, 1}, {0, 1, 1}, order);
      return;
    }
    const Index period = 16 / std::gcd<Index>(c_.n * size_, 16);
    for (Index r = row; r < std::min(row_end, row + period); ++r) {
      const Index h = head(c_.c_offset + (r * c_.n + col) * size_);
      if (h > 0 && col_end - col >= h + v_) areas_.add({r, row_end, period}, {col, col + h, 1}, order);
    }
  }

  void main() {
    if (single()) {
      const char* order = c_.k <= 192 ? "fma" : c_.k < 384 ? "split(2, floor) > fma" : "chunks(192) > fma";
      areas_.rest((c_.bias ? "epilogue(c=first) > " : "") + std::string(order));
      return;
    }
    // 4 x 12 tiles in one chain; columns that are left, then rows.
    const Index rows = c_.m / 4 * 4, cols = c_.n / 12 * 12;
    areas_.add({0, rows, 1}, {0, cols, 1}, c_.bias ? "epilogue(c=seed) > fma" : "fma");
    small(0, rows, cols, c_.n, true);
    if (c_.trans_b) {
      for (Index i = rows; i < c_.m; ++i) gemv({i, i + 1, 1}, areas_.all_cols(), false, b_column(3), a_row(i));
    } else {
      small(rows, c_.m, 0, c_.n, false);
    }
  }

  const Call& c_;
  const Index size_, v_;
  Areas areas_;
};

// --- Intel CPUs: the blocked kernels. Small products and gemv take other paths, which are only known where noted.

std::optional<Areas> intel(const Call& call, bool avx512) {
  Areas areas(call.m, call.n);
  if (call.m == 1 || call.n == 1 || call.trans_a) return {};
  const bool nt = call.trans_b, single = call.dtype == DType::f32;
  const std::string first = call.bias ? "epilogue(c=first) > " : "";
  const bool small = call.m < 12 || call.n < 12;
  if (avx512) {
    if (call.bias && !single && small) return {};
    if (nt && small) {
      if (!single || call.bias || call.k != 5 || call.m > 6 || call.n > 8) return {};
      areas.rest("tree(0 + 4 + 2 + (1 + 3)) > mul");
      return areas;
    }
    const Index q = nt && !single ? 192 : 384;
    areas.rest(call.k <= q ? first + "fma" : fmt::format("{}chunks({}, balance=half) > fma", first, q));
    return areas;
  }
  // AVX2: 6 x 16 tiles in one chain; at most three rows or eight columns that are left sum even and odd k apart.
  if (!single || (nt && (call.n < 7 || (call.k > 192 && (call.k < 384 || call.m < 64 || call.n < 64))))) return {};
  const std::string chunks = first + (call.k <= (nt ? 192 : 256) ? ""
                                      : nt                       ? "chunks(192) > "
                                                                 : "chunks(256, balance=half) > ");
  const std::string even_odd = chunks + "lanes(2, fold=left, tail=chain) > ";
  const Index rows = call.m % 6 > 3 ? call.m : call.m / 6 * 6, cols = call.n % 16 > 8 ? call.n : call.n / 16 * 16;
  areas.add({rows, call.m, 1}, areas.all_cols(), even_odd + (call.m - rows < 3 ? "mul" : "fma"));
  areas.add(areas.all_rows(), {cols, call.n, 1}, even_odd + "fma");
  areas.rest(chunks + "fma");
  return areas;
}

std::optional<Order> order(const Call& call, const Keys& keys) {
  Batch calls = batch(call);
  calls.inner.a_offset = static_cast<unsigned>(number(keys, "offset", 0, 63));
  calls.inner.b_offset = static_cast<unsigned>(number(keys, "b-offset", 0, 63));
  calls.inner.c_offset = static_cast<unsigned>(number(keys, "c-offset", 0, 63));
  const auto areas = mkl_gemm(calls.inner, choice(keys, "dispatch", {"amd", "avx512", "avx2"}));
  if (!areas) return {};
  return areas->repeated(calls.outer).order();
}

}  // namespace

std::optional<Areas> mkl_gemm(const Call& call, const std::string& dispatch) {
  if (dispatch == "amd") {
    if (call.trans_a && (call.dtype == DType::f64 || call.m * call.n == 1)) return {};
    // Threads divide these among themselves and take other kernels.
    if (call.threads > 1 && call.dtype == DType::f32 && call.m >= 4 && call.m < 12 && call.n >= 12) return {};
    return Amd(call).run();
  }
  if (call.threads > 1) return {};  // K is divided
  return intel(call, dispatch == "avx512");
}

Profile mkl() {
  return {"mkl",
          "Intel MKL 2024.2, [sd]gemm, one thread",
          {"MKL 2024.2.2 run as an AMD CPU takes it, one thread: 1762 products (four layouts, float32 and float64, offsets "
           "of A, B and C, a start value), every element",
           "avx512 and avx2: run on an AMD CPU that was presented as Intel: 571 products, every element; products of fewer "
           "than 12 rows or columns "
           "and float64 with AVX2: mostly no rule",
           "more than one thread (MKL divides K), transposed A in float64, one row or column on Intel: not covered"},
          {{"dispatch", {"amd", "avx512", "avx2"}, "what the library takes the CPU for"},
           {"offset", {"0", "4", "8", "12"}, "address of A modulo 16"},
           {"b-offset", {"0"}, "address of B modulo 16"},
           {"c-offset", {"0"}, "address of C modulo 16"}},
          order};
}

}  // namespace samebits::profiles
