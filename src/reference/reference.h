// SPDX-License-Identifier: Apache-2.0
// The definition of every order: scalar code, std::fma, nothing clever. A kernel is right when its bits equal these.
#pragma once

#include "samebits/gemm.h"
#include "samebits/matrix.h"
#include "samebits/order.h"
#include "samebits/tree.h"

namespace samebits::reference {

// Value of the tree for one element, a and b are k contiguous values (already rounded to the input format), before the
// epilogue, rounded to T.
template <class T>
T evaluate(const Tree& tree, const T* a, const T* b);

// The same with the epilogue: alpha, the old c (read only when beta != 0), bias (added when has_bias), output rounding.
template <class T>
struct Scale {
  T alpha = 1, beta = 0, c = 0, bias = 0;
  bool has_bias = false;
};
template <class T>
T evaluate(const Tree& tree, const Epilogue& epilogue, Format out, const T* a, const T* b, const Scale<T>& scale);

// One value, rounded to the format and back.
float round_to(Format format, Rounding rounding, float x);
double round_to(Format format, Rounding rounding, double x);

// Copies x (n values, stride) to out, rounded.
template <class T>
void gather(const InputRounding& rounding, const T* x, Index stride, Index n, T* out);

// c + sum of L products, fused: DESIGN "mma(L,F)"; canonical NaN 0x7fffffff. l products.
float mma_block(const float* a, const float* b, int l, int fraction, float c);

// Correctly rounded (RNE) sum of a[i]*b[i].
float exact_dot(const float* a, const float* b, std::size_t n);
double exact_dot(const double* a, const double* b, std::size_t n);

// The whole product; checks nothing. Any plain or regions order.
template <class T>
void gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, const Order& order, Bias<T> bias = {});

}  // namespace samebits::reference
