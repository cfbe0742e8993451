// SPDX-License-Identifier: Apache-2.0
// C <- alpha*A*B + beta*C + bias in a chosen accumulation order. A is m x k, B is k x n, C is m x n.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "samebits/matrix.h"
#include "samebits/order.h"

namespace [[gnu::visibility("default")]] samebits {

struct Context {
  int threads = 0;    // 0: SAMEBITS_NUM_THREADS (an error where that is no count), else 1. Never changes a bit.
  std::string isa{};  // "", or one of kernels(): "portable", "avx2", "avx512", "reference". "": SAMEBITS_ISA, else the best here.
};

// A bias: empty, or n values added to each row, stride in elements (0: one value for all columns).
template <class T>
struct Bias {
  const T* data = nullptr;
  Index stride = 1;
};

// Order x shape x types, compiled once; run() neither parses nor allocates once it has run at a thread count. Safe to run
// from several threads at once.
template <class T>
class Plan {
 public:
  Plan(const Order& order, Index m, Index n, Index k, const Context& context = {});
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  // Throws Error(invalid_argument) before C is touched: shapes other than the plan's, C overlapping A or B, null data.
  // beta = 0 never reads C; alpha = 0 reads neither A nor B.
  // (By reference: copying a view just built costs as much as a product of 6 x 7 x 5.)
  void run(T alpha, const MatrixView<const T>& a, const MatrixView<const T>& b, T beta, const MatrixView<T>& c,
           const Bias<T>& bias = {}) const;

  // Which kernel runs, e.g. "sgemm_avx512_12x32_fma", or "reference (exact)".
  std::string kernel() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Without a plan: each thread keeps the last few that it made, for calls with the same Order object (or a copy of it).
void gemm(float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta, MatrixView<float> c,
          const Order& order = {}, const Context& context = {}, Bias<float> bias = {});
void gemm(double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta, MatrixView<double> c,
          const Order& order = {}, const Context& context = {}, Bias<double> bias = {});

// `count` products; matrix i of each operand starts at data + i * batch_stride (elements; 0 shares an input).
void gemm_batch(float alpha, MatrixView<const float> a, Index a_batch, MatrixView<const float> b, Index b_batch, float beta,
                MatrixView<float> c, Index c_batch, Index count, const Order& order = {}, const Context& context = {});
void gemm_batch(double alpha, MatrixView<const double> a, Index a_batch, MatrixView<const double> b, Index b_batch,
                double beta, MatrixView<double> c, Index c_batch, Index count, const Order& order = {},
                const Context& context = {});

struct KernelInfo {
  std::string name;         // "sgemm_avx2_6x16_fma"
  std::string isa;          // "avx2"
  bool built = false;       // compiled into this library
  bool supported = false;   // this CPU can run it
};
std::vector<KernelInfo> kernels();

}  // namespace samebits
