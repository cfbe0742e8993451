// SPDX-License-Identifier: Apache-2.0
// From the shapes of two arrays to matrix products, as np.matmul forms them.
#pragma once

#include <optional>
#include <vector>

#include "io/npy.h"

namespace samebits::io {

// How the files are read: op(A) (m x k) times op(B) (k x n); trans_a, trans_b swap the last two axes.
struct Reading {
  bool trans_a = false, trans_b = false;
  friend bool operator==(const Reading&, const Reading&) = default;
};

// C[i] = op(A[i]) * op(B[i]) for i < count. With a B of one or two dimensions the leading dimensions of A are rows of one
// product: (2, 3, 5) is 6 x 5. Otherwise leading dimensions are a batch, broadcast. A vector A is a row, a vector B a
// column.
struct Operands {
  Reading reading;
  Index m = 0, n = 0, k = 0;                      // of one product
  Index count = 1;                                // products
  std::vector<Index> a_shape, b_shape, c_shape;   // as in the files; of the result
  bool a_contiguous = true, b_contiguous = true;  // false: stored in Fortran order, the last axis is not the inner one
  std::vector<Index> a_offset, b_offset;          // first element of each product, `count` entries

  template <class T>
  MatrixView<const T> a(const T* data, Index i = 0) const {
    const auto x = data + a_offset[i];
    return reading.trans_a ? row_major(x, k, m).transposed() : row_major(x, m, k);
  }
  template <class T>
  MatrixView<const T> b(const T* data, Index i = 0) const {
    const auto x = data + b_offset[i];
    return reading.trans_b ? row_major(x, n, k).transposed() : row_major(x, k, n);
  }
  template <class T>
  MatrixView<T> c(T* data, Index i = 0) const {
    return row_major(data + i * m * n, m, n);
  }
};

// Throws Error(invalid_argument) with the shapes where they do not fit, or where the types differ.
Operands operands(const Array& a, const Array& b, Reading reading);

// Every reading that the shapes allow, plain first; c: the shape that the result must have. More than one: the files alone
// do not tell (B is square, say).
std::vector<Reading> readings(const Array& a, const Array& b, const std::optional<std::vector<Index>>& c = {});

// The array's elements repeated to `shape` by NumPy's rules (a bias, say). Error(invalid_argument) where they do not fit.
std::vector<float> broadcast_f32(const Array& x, const std::vector<Index>& shape);
std::vector<double> broadcast_f64(const Array& x, const std::vector<Index>& shape);

}  // namespace samebits::io
