// SPDX-License-Identifier: Apache-2.0
// Checks of gemm's arguments, before C is touched.
#pragma once

#include "samebits/gemm.h"

namespace samebits {

// `count` products, each operand's matrices so many elements apart.
struct Batch {
  Index count = 1, a = 0, b = 0, c = 0;
};

// Throws Error(invalid_argument): negative sizes, sizes that do not fit together or overflow, null data, a C whose elements
// are not distinct, C sharing an element with A, B or the bias where these are read.
template <class T>
void check_arguments(T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c, Bias<T> bias,
                     const Batch& batch = {});

}  // namespace samebits
