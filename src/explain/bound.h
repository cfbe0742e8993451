// SPDX-License-Identifier: Apache-2.0
// How far a result may be from the exact value, whatever the order of its additions.
//
// With n roundings on the way of a product (k, and one for each of alpha, beta*C, + C, + bias), u the unit roundoff of the
// accumulator and gamma_n = n*u / (1 - n*u) (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1):
//   |result - exact| <= gamma_n * (S + E) + E + underflow,   S = |alpha| * sum |a||b| + |beta*C| + |bias|,
// where E is what rounding the inputs changes: (2 u_in + u_in^2) * |alpha| * sum |a||b|, and the format's least subnormal
// times the other operand. A tensor-core block of L products with F fraction bits errs by (L+1) * 2^-F of its greatest term
// and is truncated (2^-23): n*u becomes blocks * ((L+1) * 2^-F + 2^-23). Everything is rounded upward.
#pragma once

#include <optional>
#include <string>

#include "reference/reference.h"
#include "samebits/matrix.h"
#include "samebits/order.h"

namespace samebits::explain {

// What inputs are rounded to and sums are kept in. tf32 and below: on tensor cores too, whichever bound is larger.
enum class Precision : std::uint8_t { f64, f32, tf32, bf16, fp16 };
std::string name(Precision precision);  // "float64", "float32", "TF32", "BF16", "FP16"

// One element of C: k contiguous values of A's row and B's column, as given, and its epilogue.
template <class T>
struct Element {
  const T* a = nullptr;
  const T* b = nullptr;
  std::size_t k = 0;
  reference::Scale<T> scale;
};

// alpha * sum a*b + beta*c + bias, and its difference value - exact, each correctly rounded to double. With non-finite terms
// the exact value is what `exact` gives (NaN or an infinity).
template <class T>
double exact_value(const Element<T>& element);
template <class T>
double exact_error(const Element<T>& element, T value);

// Upper bound of |value - exact_value| for every order in this precision; +Inf where a sum or an input could overflow.
template <class T>
double error_bound(Precision precision, const Element<T>& element);
// For this plain order: its input rounding, accumulators, tensor-core blocks.
template <class T>
double error_bound(const Order& order, const Element<T>& element);

// Whether the value can come from a correct product in this precision. Where the exact value is not finite: whether it is
// that.
template <class T>
bool within(Precision precision, const Element<T>& element, T value);

// The first of float64 (double only), float32, TF32, BF16, FP16 whose bound holds; none: not a rounding error.
template <class T>
std::optional<Precision> size_of_error(const Element<T>& element, T value);

struct BoundReport {
  Index elements = 0, outside = 0;
  Index worst_row = -1, worst_col = -1;  // the largest error in units of its bound
  double worst_ratio = 0;                // at least error / bound; NaN: not finite where the exact value is, or the reverse
  bool inside() const { return outside == 0; }
};

// All of C. `c` is the old C (null data: none).
template <class T>
BoundReport check_bound(Precision precision, MatrixView<const T> a, MatrixView<const T> b, MatrixView<const T> value,
                        T alpha = 1, T beta = 0, MatrixView<const T> c = {}, Bias<T> bias = {});

}  // namespace samebits::explain
