// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "reference/float_environment.h"
#include "reference/reference.h"

namespace samebits::reference {
namespace {

// One plain order on the elements that no earlier entry of the list holds.
struct Part {
  Range rows, cols;
  Tree tree;
  InputRounding input;
  Epilogue epilogue;
  Format out;

  bool holds(Index i, Index j) const { return rows.contains(i) && cols.contains(j); }
};

std::vector<Part> parts(const Order& order, Index rows, Index cols, Index k) {
  order.check_shape(rows, cols);
  std::vector<Part> list;
  const auto add = [&](Range r, Range c, const Order& o) {
    r.end = std::min(r.end, rows);
    c.end = std::min(c.end, cols);
    list.push_back({r, c, o.tree(static_cast<std::size_t>(k)), o.input(), o.epilogue(), o.out()});
  };
  for (const Region& region : order.regions()) add(region.rows, region.cols, region.order);
  add({0, rows, 1}, {0, cols, 1}, order.rest());
  return list;
}

}  // namespace

template <class T>
void gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, const Order& order, Bias<T> bias) {
  const FloatEnvironment environment;
  const Index k = a.cols;
  const std::vector<Part> list = parts(order, c.rows, c.cols, k);
  for (const Part& part : list) check(part.tree, part.epilogue, alpha, beta);

  const auto held_earlier = [&](const Part& part, Index i, Index j) {
    for (const Part& p : list) {
      if (&p == &part) return false;
      if (p.holds(i, j)) return true;
    }
    return false;
  };
  std::vector<T> column(k), rows;
  for (const Part& part : list) {
    rows.resize(c.rows * k);
    for (Index i = part.rows.begin; alpha != 0 && i < part.rows.end; i += part.rows.step)
      gather(part.input, a.data + i * a.row_stride, a.col_stride, k, rows.data() + i * k);
    for (Index j = part.cols.begin; j < part.cols.end; j += part.cols.step) {
      if (alpha != 0) gather(part.input, b.data + j * b.col_stride, b.row_stride, k, column.data());
      for (Index i = part.rows.begin; i < part.rows.end; i += part.rows.step) {
        if (held_earlier(part, i, j)) continue;
        Scale<T> scale{.alpha = alpha, .beta = beta};
        if (beta != 0) scale.c = c(i, j);
        if (bias.data) scale.bias = bias.data[j * bias.stride];
        scale.has_bias = bias.data != nullptr;
        c(i, j) = evaluate(part.tree, part.epilogue, part.out, rows.data() + i * k, column.data(), scale);
      }
    }
  }
}
template void gemm(float, MatrixView<const float>, MatrixView<const float>, float, MatrixView<float>, const Order&,
                   Bias<float>);
template void gemm(double, MatrixView<const double>, MatrixView<const double>, double, MatrixView<double>, const Order&,
                   Bias<double>);

}  // namespace samebits::reference
