// SPDX-License-Identifier: Apache-2.0
#include "gemm/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace samebits {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(Code::invalid_argument, message);
}

__extension__ using Wide = __int128;

Wide gcd(Wide x, Wide y) {
  while (y != 0) x = std::exchange(y, x % y);
  return x;
}

struct Dimension {
  Index size;
  Wide stride;  // bytes
};

// The elements of a view, or of a batch of views.
struct Elements {
  Wide first;  // address of the lowest
  Index size;  // bytes of one
  std::array<Dimension, 3> all{};
  std::size_t count = 0;

  // Those of more than one element, nearest neighbours first; strides are not negative.
  std::span<const Dimension> dimensions() const { return {all.data(), count}; }
  Wide reach(std::size_t inner) const {  // bytes that the first `inner` dimensions span
    Wide bytes = size;
    for (std::size_t d = 0; d < inner; ++d) bytes += (all[d].size - 1) * all[d].stride;
    return bytes;
  }
  Wide end() const { return first + reach(count); }
};

template <class T>
Elements elements(MatrixView<const T> x, Index count, Index batch) {
  Elements out{static_cast<Wide>(reinterpret_cast<std::uintptr_t>(x.data)), sizeof(T)};
  for (const auto& [n, stride] : {std::pair{x.rows, x.row_stride}, {x.cols, x.col_stride}, {count, batch}}) {
    if (n <= 1) continue;
    const Wide bytes = static_cast<Wide>(stride) * static_cast<Wide>(sizeof(T));
    if (bytes < 0) out.first += (n - 1) * bytes;
    const Dimension d{n, bytes < 0 ? -bytes : bytes};
    std::size_t at = out.count++;
    for (; at > 0 && out.all[at - 1].stride > d.stride; --at) out.all[at] = out.all[at - 1];
    out.all[at] = d;
  }
  return out;
}

// Each dimension steps over all that lies inside it. (Sufficient; layouts that are distinct in another way are refused.)
bool distinct(const Elements& x) {
  for (std::size_t d = 0; d < x.count; ++d)
    if (x.all[d].stride < x.reach(d)) return false;
  return true;
}

// The runs along the nearest dimension, in ascending order.
class Lines {
 public:
  explicit Lines(const Elements& x) : length(x.reach(std::min<std::size_t>(1, x.count))), first_(x.first) {
    if (x.count > 1) step_ = x.all[1];
    if (x.count < 3) return;  // and nothing is allocated
    for (Index i = 0; i < x.all[2].size; ++i)
      for (Index j = 0; j < step_.size; ++j) starts_.push_back(first_ + i * x.all[2].stride + j * step_.stride);
    std::ranges::sort(starts_);
  }
  Index size() const { return starts_.empty() ? step_.size : std::ssize(starts_); }
  Wide operator[](Index i) const { return starts_.empty() ? first_ + i * step_.stride : starts_[i]; }
  const Wide length;  // bytes

 private:
  Wide first_;
  Dimension step_{1, 0};
  std::vector<Wide> starts_;
};

// Whether they may share an element. Exact where lines are contiguous or all strides have a common divisor that separates
// them.
bool overlap(const Elements& x, const Elements& y) {
  if (x.end() <= y.first || y.end() <= x.first) return false;
  Wide divisor = 0, offset = y.first - x.first;
  for (const Elements* e : {&x, &y})
    for (const Dimension& d : e->dimensions()) divisor = gcd(divisor, d.stride);
  if (divisor != 0) {
    offset = (offset % divisor + divisor) % divisor;
    if (offset >= x.size && divisor - offset >= x.size) return false;  // real and imaginary parts, say
  }
  const Lines p(x), q(y);
  for (Index i = 0, j = 0; i < p.size() && j < q.size();) {
    if (p[i] + p.length <= q[j])
      ++i;
    else if (q[j] + q.length <= p[i])
      ++j;
    else
      return true;
  }
  return false;
}

template <class T>
bool empty(MatrixView<T> x) {
  return x.rows == 0 || x.cols == 0;
}

template <class T>
void check_view(const char* name, MatrixView<const T> x, Index count, Index batch, bool is_read) {
  if (x.rows < 0 || x.cols < 0) invalid(fmt::format("{}: negative size {} x {}", name, x.rows, x.cols));
  if (empty(x) || count == 0 || !is_read) return;
  if (!x.data) invalid(fmt::format("{} is null", name));
  Wide reach = 1;
  for (const auto& [n, stride] : {std::pair{x.rows, x.row_stride}, {x.cols, x.col_stride}, {count, batch}}) {
    const Wide span = static_cast<Wide>(n - 1) * stride;
    reach += span < 0 ? -span : span;
  }
  if (reach > std::numeric_limits<std::ptrdiff_t>::max() / static_cast<Wide>(sizeof(T)))
    invalid(fmt::format("{}: {} x {} with strides {}, {} is larger than memory", name, x.rows, x.cols, x.row_stride,
                        x.col_stride));
}

}  // namespace

template <class T>
void check_arguments(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, Bias<T> bias,
                     const Batch& batch) {
  const Index count = batch.count;
  if (count < 0) invalid(fmt::format("a batch of {} products", count));
  const bool reads = alpha != 0 && !empty(c);
  check_view<T>("A", a, count, batch.a, reads);
  check_view<T>("B", b, count, batch.b, reads);
  check_view<T>("C", c, count, batch.c, true);
  if (a.rows != c.rows || b.cols != c.cols || a.cols != b.rows)
    invalid(fmt::format("shapes do not fit: A is {} x {}, B is {} x {}, C is {} x {}", a.rows, a.cols, b.rows, b.cols,
                        c.rows, c.cols));
  if (empty(c) || count == 0) return;

  const Elements own = elements<T>(c, count, batch.c);
  if (!distinct(own))
    invalid(count == 1 ? fmt::format("C: strides {}, {} of {} x {} put two elements in one place", c.row_stride,
                                     c.col_stride, c.rows, c.cols)
                       : fmt::format("C: {} matrices, {} elements apart, overlap", count, batch.c));
  if (reads && !empty(a) && overlap(own, elements(a, count, batch.a))) invalid("C overlaps A");
  if (reads && !empty(b) && overlap(own, elements(b, count, batch.b))) invalid("C overlaps B");
  if (bias.data && overlap(own, elements(MatrixView<const T>{bias.data, c.cols, 1, bias.stride, 1}, 1, 0)))
    invalid("C overlaps the bias");
}
template void check_arguments(float, MatrixView<const float>, MatrixView<const float>, MatrixView<float>, Bias<float>,
                              const Batch&);
template void check_arguments(double, MatrixView<const double>, MatrixView<const double>, MatrixView<double>, Bias<double>,
                              const Batch&);

}  // namespace samebits
