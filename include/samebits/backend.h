// SPDX-License-Identifier: Apache-2.0
// Anything that multiplies matrices: ours, a BLAS, ONNX Runtime, another program.
#pragma once

#include <functional>
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
  virtual bool sets_threads() const { return true; }      // follows BackendCall::threads
  virtual bool packs_constants() const { return false; }  // treats a constant B as another kind of call
  virtual bool in_place() const { return true; }  // works on the call's own memory, in the caller's thread or on its behalf
  // Both throw Error(backend) with a message that a user can act on.
  virtual void multiply(const BackendCall<float>& call) = 0;
  virtual void multiply(const BackendCall<double>& call) = 0;
};

// Specification: NAME, NAME:ARGUMENT, options in parentheses behind the name or the argument.
//   samebits(order=ORDER, isa=ISA)     this library
//   naive(op=mul|fma)                  three loops, one accumulator
//   openblas, onednn[:PATH], eigen     found on this machine, or compiled in
//   cblas:PATH(prefix=scipy_, suffix=64_, int=64, style=cblas|fortran)   any BLAS by its path
//   onnxruntime:PATH(node=matmul|gemm, optimize=0..99)
//   cuda, cublas, cublaslt
//   command:PROGRAM {a} {b} {c}        or command(timeout=SECONDS):...; reads .npy files, writes one
//   command(loop=yes):PROGRAM          started once; reads lines "A<tab>B<tab>C" of such files, answers each with "ok"
// openblas and cblas take entry=gemm|gemv|dot|numpy; numpy picks one by shape as NumPy does.
// Throws Error(syntax) for a bad specification, Error(backend) with the reason when the backend is not available.
std::unique_ptr<Backend> open_backend(const std::string& specification);

// A backend from functions, for tests and for your own product; an empty function means the type is not supported.
std::unique_ptr<Backend> make_backend(std::string name, std::function<void(const BackendCall<float>&)> f32,
                                      std::function<void(const BackendCall<double>&)> f64 = {});

struct BackendInfo {
  std::string name;
  bool available = false;
  std::string detail;  // version, core and threads, or "not available: why"
};
// Every backend that needs no argument, and how to write the others.
std::vector<BackendInfo> backends();

}  // namespace gnu::visibility("default")]]samebits
