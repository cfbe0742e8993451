// SPDX-License-Identifier: Apache-2.0
// The definition of every order: scalar code, std::fma, nothing clever. A kernel is right when its bits equal these.
#pragma once

#include <functional>

#include "samebits/gemm.h"
#include "samebits/matrix.h"
#include "samebits/order.h"
#include "samebits/tree.h"

namespace samebits::reference {

// Value of the tree for one element, a and b are k contiguous values (already rounded to the input format), before the
// epilogue, rounded to T. Items are joined from left to right in the precision of their node: T, or double where it is wide.
// Error(unsupported): mma or mul_f32 on double, mma in a wide node, an exact item that does not stand alone.
template <class T>
T evaluate(const Tree& tree, const T* a, const T* b);

// The same; `observe` hears the accumulator's value after each item of each node, children before their parents. The value
// is a T unless the node is wide.
using Observer = std::function<void(std::uint32_t node, std::uint32_t item, double value)>;
template <class T>
T evaluate(const Tree& tree, const T* a, const T* b, const Observer& observe);

// The value with the epilogue: alpha, the old c (read only when beta != 0), bias (added when has_bias), output rounding.
//
// Every operation rounds to T. AB is the tree's value, p0, p1, ... are its pieces: the items of the root where all of them
// are nodes, else the one piece AB. C' = (beta = 1 ? C : beta*C). alpha = 0 counts as alpha = 1 and K = 0 (AB = +0).
//   alpha=end,   c=last:   t = alpha*AB; t = t + C'                      fused: t = fma(alpha, AB, C')
//   alpha=end,   c=first:  t = ((C' + p0) + p1) + ...                    only with alpha = 1
//   alpha=end,   c=seed:   t = AB, its first chain starting from C'      only with alpha = 1
//   alpha=block, c=last:   t = (alpha*p0 + alpha*p1) + ...; t = t + C'   fused: fma(alpha, p1, alpha*p0), ...
//   alpha=block, c=first:  t = (C' + alpha*p0) + alpha*p1 ...            fused: fma(alpha, p0, C'), ...
//   alpha=block, c=seed:   as alpha=end, c=seed
//   alpha=a:               A is replaced by alpha*A (after input rounding), then as alpha=end with alpha = 1
// Where alpha = 1 nothing is multiplied by it; where beta = 0 there is no C' and nothing is added for it, so c=first and
// c=seed start as the order does. Sums of pieces are in double where the root is wide. Then t = t + bias, then the output
// rounding (to nearest even).
template <class T>
struct Scale {
  T alpha = 1, beta = 0, c = 0, bias = 0;
  bool has_bias = false;
};
template <class T>
T evaluate(const Tree& tree, const Epilogue& epilogue, Format out, const T* a, const T* b, const Scale<T>& scale);

// Throws what evaluate would throw for this tree, epilogue and these factors.
template <class T>
void check(const Tree& tree, const Epilogue& epilogue, T alpha, T beta);

// One value, rounded once to the format and back; a NaN stays a quiet NaN (but see Rounding::rz_raw).
float round_to(Format format, Rounding rounding, float x);
double round_to(Format format, Rounding rounding, double x);

// Copies x (n values, stride) to out, rounded.
template <class T>
void gather(const InputRounding& rounding, const T* x, Index stride, Index n, T* out);

// c + sum of l products, fused: terms aligned to the greatest exponent, `fraction` bits kept (at most 46), the sum truncated
// to float. NaN results are 0x7fffffff. Operands are rounded to their format; emin is its least exponent.
float mma_block(const float* a, const float* b, int l, int fraction, float c, int emin = -126);

// Correctly rounded (RNE) sum of a[i]*b[i]. A zero sum is +0; NaN where the terms hold a NaN, Inf*0 or both infinities.
float exact_dot(const float* a, const float* b, std::size_t n);
double exact_dot(const double* a, const double* b, std::size_t n);

// The whole product; checks no shapes. Any plain or regions order. Error(unsupported) before C is touched, see check().
template <class T>
void gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, const Order& order,
          Bias<T> bias = {});

}  // namespace samebits::reference
