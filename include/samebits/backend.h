// SPDX-License-Identifier: Apache-2.0
// Anything that multiplies matrices: ours, a BLAS, ONNX Runtime, another program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "samebits/gemm.h"

namespace [[gnu::visibility("default")]] samebits {

// One call as a backend sees it: row-major storage, C (m x n) <- alpha*op(A)*op(B) + beta*C.
template <class T>
struct BackendCall {
  Index m = 0, n = 0, k = 0;
  bool trans_a = false;  // A is stored k x m
  bool trans_b = false;  // B is stored n x k
  T alpha = 1, beta = 0;
  const T* a = nullptr;
  Index lda = 0;
  const T* b = nullptr;
  Index ldb = 0;
  T* c = nullptr;
  Index ldc = 0;
  int threads = 1;
  bool constant_b = false;  // b holds the same values in every call that follows: may be prepacked
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         // as given to open_backend
  virtual std::string description() const = 0;  // version, core or instruction set it runs
  virtual bool supports(DType) const { return true; }
  // Both throw Error(backend) with a message that a user can act on.
  virtual void multiply(const BackendCall<float>& call) = 0;
  virtual void multiply(const BackendCall<double>& call) = 0;
};

// "samebits", "samebits(order=..., isa=...)", "openblas", "cblas:PATH", "onednn:PATH", "onnxruntime:PATH", "eigen", "naive",
// "cuda", "cublas", "cublaslt", "command:PROGRAM {a} {b} {c}". Throws Error(backend) with the reason when not available.
std::unique_ptr<Backend> open_backend(const std::string& specification);

struct BackendInfo {
  std::string name;
  bool available = false;
  std::string detail;  // version and core, or "not available: why"
};
std::vector<BackendInfo> backends();

}  // namespace samebits
