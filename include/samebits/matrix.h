// SPDX-License-Identifier: Apache-2.0
// Strided views of matrices. A view owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace [[gnu::visibility("default")]] samebits {

using Index = std::int64_t;

enum class DType : std::uint8_t { f32, f64 };

template <class T>
inline constexpr DType dtype_of = std::is_same_v<std::remove_const_t<T>, double> ? DType::f64 : DType::f32;

// Element (i, j) is data[i * row_stride + j * col_stride]; strides count elements, may be negative or zero (inputs only).
template <class T>
struct MatrixView {
  T* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index row_stride = 0;
  Index col_stride = 1;

  T& operator()(Index i, Index j) const { return data[i * row_stride + j * col_stride]; }
  MatrixView transposed() const { return {data, cols, rows, col_stride, row_stride}; }
  operator MatrixView<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, rows, cols, row_stride, col_stride};
  }
};

// Row-major, `ld` elements from one row to the next (default: dense).
template <class T>
MatrixView<T> row_major(T* data, Index rows, Index cols, Index ld = -1) {
  return {data, rows, cols, ld < 0 ? cols : ld, 1};
}

// Column-major, `ld` elements from one column to the next (default: dense).
template <class T>
MatrixView<T> col_major(T* data, Index rows, Index cols, Index ld = -1) {
  return {data, rows, cols, 1, ld < 0 ? rows : ld};
}

}  // namespace samebits
