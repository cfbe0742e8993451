// SPDX-License-Identifier: Apache-2.0
// A stand-in for libcublas and libcublasLt that works on host memory: what the backends call, and with which arguments.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {
struct State {
  int math = 0;
  unsigned long workspace = 0;
} state;

template <class T>
int product(bool ta, bool tb, long m, long n, long k, T alpha, const T* a, long lda, const T* b, long ldb, T beta, T* c, long ldc) {
  for (long j = 0; j < n; ++j)
    for (long i = 0; i < m; ++i) {
      T s = 0;
      for (long p = 0; p < k; ++p) s = std::fma(ta ? a[i * lda + p] : a[p * lda + i], tb ? b[p * ldb + j] : b[j * ldb + p], s);
      c[j * ldc + i] = alpha * s + (beta == 0 ? 0 : beta * c[j * ldc + i]);
    }
  return 0;
}

struct Layout {
  int type;
  std::uint64_t rows, cols;
  std::int64_t ld;
};
struct Operation {
  int compute, type, trans[2];
};
}  // namespace

extern "C" {
int cublasCreate_v2(void** handle) {
  if (std::getenv("FAKE_CUBLAS_STATUS")) return std::atoi(std::getenv("FAKE_CUBLAS_STATUS"));
  *handle = &state;
  return 0;
}
int cublasDestroy_v2(void*) { return 0; }
int cublasGetVersion_v2(void*, int* version) {
  *version = 130000 + state.math;  // shows the mode that was set
  return 0;
}
int cublasSetMathMode(void*, int mode) {
  state.math = mode;
  return 0;
}
int cublasSetWorkspace_v2(void*, void* p, std::size_t bytes) {
  state.workspace = bytes;
  return p || bytes == 0 ? 0 : 7;
}
int cublasSgemm_v2(void*, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                   int ldc) {
  return product(ta == 1, tb == 1, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
}
int cublasDgemm_v2(void*, int ta, int tb, int m, int n, int k, const double* alpha, const double* a, int lda, const double* b, int ldb, const double* beta,
                   double* c, int ldc) {
  return product(ta == 1, tb == 1, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
}

int cublasLtCreate(void** handle) { return cublasCreate_v2(handle); }
int cublasLtDestroy(void*) { return 0; }
std::size_t cublasLtGetVersion() { return 130001; }
int cublasLtMatmulDescCreate(void** p, int compute, int type) {
  *p = new Operation{compute, type, {0, 0}};
  return 0;
}
int cublasLtMatmulDescDestroy(void* p) {
  delete static_cast<Operation*>(p);
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* p, int attribute, const void* value, std::size_t) {
  if (attribute != 3 && attribute != 4) return 7;
  static_cast<Operation*>(p)->trans[attribute - 3] = *static_cast<const int*>(value);
  return 0;
}
int cublasLtMatrixLayoutCreate(void** p, int type, std::uint64_t rows, std::uint64_t cols, std::int64_t ld) {
  if (ld < static_cast<std::int64_t>(rows)) return 7;
  *p = new Layout{type, rows, cols, ld};
  return 0;
}
int cublasLtMatrixLayoutDestroy(void* p) {
  delete static_cast<Layout*>(p);
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** p) {
  *p = &state;
  return 0;
}
int cublasLtMatmulPreferenceDestroy(void*) { return 0; }
int cublasLtMatmulPreferenceSetAttribute(void*, int attribute, const void*, std::size_t) { return attribute == 1 ? 0 : 7; }
struct Heuristic {
  std::uint64_t data[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void*, void*, void*, void*, void*, int, Heuristic* result, int* count) {
  *result = {};
  result->data[0] = static_cast<std::uint64_t>(static_cast<Operation*>(operation)->compute);
  *count = 1;
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const std::uint64_t* algorithm, int attribute, void* value, std::size_t, std::size_t* written) {
  *static_cast<std::int32_t*>(value) = attribute == 0 ? static_cast<std::int32_t>(algorithm[0]) : attribute;
  *written = 4;
  return 0;
}
int cublasLtMatmul(void*, void* operation, const void* alpha, const void* a, void* layout_a, const void* b, void* layout_b, const void* beta, const void* c,
                   void*, void* d, void* layout_d, const void*, void*, std::size_t, void*) {
  const auto& op = *static_cast<Operation*>(operation);
  const auto& la = *static_cast<Layout*>(layout_a);
  const auto& lb = *static_cast<Layout*>(layout_b);
  const auto& ld = *static_cast<Layout*>(layout_d);
  if (c != d) return 7;
  const long m = static_cast<long>(ld.rows), n = static_cast<long>(ld.cols), k = static_cast<long>(op.trans[0] ? la.rows : la.cols);
  if (static_cast<long>(op.trans[0] ? la.cols : la.rows) != m || static_cast<long>(op.trans[1] ? lb.rows : lb.cols) != n) return 7;
  const auto run = [&]<class T>(T) {
    return product(op.trans[0] == 1, op.trans[1] == 1, m, n, k, *static_cast<const T*>(alpha), static_cast<const T*>(a), la.ld, static_cast<const T*>(b), lb.ld,
                   *static_cast<const T*>(beta), static_cast<T*>(d), ld.ld);
  };
  return op.type == 0 ? run(0.0f) : run(0.0);
}
}
