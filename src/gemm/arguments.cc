// SPDX-License-Identifier: Apache-2.0
#include "gemm/arguments.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace samebits {
namespace {

[[noreturn]] void invalid(const std::string& message) { throw Error(Code::invalid_argument, message); }

__extension__ using Wide = __int128;

// A view as `lines` intervals of addresses (bytes), ascending: line i is [first + i*step, + length).
struct Lines {
  Wide first, step, length;
  Index lines;
};

template <class T>
Lines lines_of(MatrixView<const T> x) {
  const auto span = [](Index n, Index stride) { return static_cast<Wide>(n - 1) * std::llabs(stride); };
  // The stride that reaches farther goes from line to line.
  if (span(x.rows, x.row_stride) < span(x.cols, x.col_stride)) x = x.transposed();
  Wide first = reinterpret_cast<std::uintptr_t>(x.data);
  constexpr int size = sizeof(T);
  if (x.row_stride < 0) first -= span(x.rows, x.row_stride) * size;
  if (x.col_stride < 0) first -= span(x.cols, x.col_stride) * size;
  return {first, static_cast<Wide>(std::llabs(x.row_stride)) * size, (span(x.cols, x.col_stride) + 1) * size, x.rows};
}

bool overlap(const Lines& x, const Lines& y) {
  for (Index i = 0, j = 0; i < x.lines && j < y.lines;) {
    const Wide a = x.first + i * x.step, b = y.first + j * y.step;
    if (a + x.length <= b) ++i;
    else if (b + y.length <= a) ++j;
    else return true;
  }
  return false;
}

template <class T>
bool empty(MatrixView<T> x) {
  return x.rows == 0 || x.cols == 0;
}

template <class T>
void check_view(const char* name, MatrixView<const T> x, bool is_read) {
  if (x.rows < 0 || x.cols < 0) invalid(fmt::format("{}: negative size {} x {}", name, x.rows, x.cols));
  if (empty(x) || !is_read) return;
  if (!x.data) invalid(fmt::format("{} is null", name));
  Index rows, cols, sum;
  if (__builtin_mul_overflow(x.rows - 1, x.row_stride, &rows) || __builtin_mul_overflow(x.cols - 1, x.col_stride, &cols) ||
      __builtin_add_overflow(std::llabs(rows), std::llabs(cols), &sum) ||
      __builtin_mul_overflow(sum, static_cast<Index>(sizeof(T)), &sum))
    invalid(fmt::format("{}: {} x {} with strides {}, {} is larger than memory", name, x.rows, x.cols, x.row_stride, x.col_stride));
}

}  // namespace

template <class T>
void check_arguments(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, Bias<T> bias) {
  const bool reads = alpha != 0 && !empty(c);
  check_view<T>("A", a, reads);
  check_view<T>("B", b, reads);
  check_view<T>("C", c, true);
  if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
    invalid(fmt::format("shapes do not fit: A is {} x {}, B is {} x {}, C is {} x {}", a.rows, a.cols, b.rows, b.cols, c.rows, c.cols));
  if (empty(c)) return;

  const Lines own = lines_of<T>(c);
  const bool by_rows = own.lines == c.rows && own.step == static_cast<Wide>(std::llabs(c.row_stride)) * Index{sizeof(T)};
  const Index inner_count = by_rows ? c.cols : c.rows, inner = by_rows ? c.col_stride : c.row_stride;
  if ((inner_count > 1 && inner == 0) || (own.lines > 1 && own.step < own.length))
    invalid(fmt::format("C: strides {}, {} of {} x {} put two elements in one place", c.row_stride, c.col_stride, c.rows, c.cols));
  if (reads && !empty(a) && overlap(own, lines_of(a))) invalid("C overlaps A");
  if (reads && !empty(b) && overlap(own, lines_of(b))) invalid("C overlaps B");
  if (bias.data && overlap(own, lines_of(MatrixView<const T>{bias.data, c.cols, 1, bias.stride, 1}))) invalid("C overlaps the bias");
}
template void check_arguments(float, MatrixView<const float>, MatrixView<const float>, MatrixView<float>, Bias<float>);
template void check_arguments(double, MatrixView<const double>, MatrixView<const double>, MatrixView<double>, Bias<double>);

}  // namespace samebits
