// SPDX-License-Identifier: Apache-2.0
// The BLAS routines behind every name of libsamebits_cblas.so, column-major, with 64-bit integers. They return normally
// whatever happens (samebits/cblas.h says what is done about errors).
#pragma once

#include "samebits/matrix.h"

namespace samebits::blas {

enum class Trans { no, yes, bad };
enum class Uplo { upper, lower, bad };

// Fortran's letters; for real matrices C is T.
Trans trans(char letter);
Uplo uplo(char letter);

// CBLAS's numbers: layouts 101 (rows), 102 (columns); transposes 111, 112, 113; triangles 121, 122.
enum class Layout { rows = 101, columns = 102 };
Trans trans(int cblas);
Uplo uplo(int cblas);

template <class T>
void gemm(const char* name, Layout layout, Trans trans_a, Trans trans_b, Index m, Index n, Index k, T alpha, const T* a, Index lda,
          const T* b, Index ldb, T beta, T* c, Index ldc);
// y <- alpha*op(A)*x + beta*y, A is m x n as stored.
template <class T>
void gemv(const char* name, Layout layout, Trans trans, Index m, Index n, T alpha, const T* a, Index lda, const T* x, Index incx,
          T beta, T* y, Index incy);
template <class T>
T dot(const char* name, Index n, const T* x, Index incx, const T* y, Index incy);
// The triangle `uplo` of C <- alpha*op(A)*op(A)^T + beta*C, C is n x n, op(A) is n x k.
template <class T>
void syrk(const char* name, Layout layout, Uplo uplo, Trans trans, Index n, Index k, T alpha, const T* a, Index lda, T beta, T* c,
          Index ldc);

}  // namespace samebits::blas
