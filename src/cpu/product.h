// SPDX-License-Identifier: Apache-2.0
// C <- alpha*A*B + beta*C + bias in one plain order, on kernels. The order is a program; anything else is Error(unsupported)
// when it is made.
#pragma once

#include <memory>
#include <string>

#include "samebits/matrix.h"
#include "samebits/order.h"

namespace samebits::cpu {

template <class T>
struct Call {
  T alpha = 1, beta = 0;
  MatrixView<const T> a, b;  // m x k, k x n
  MatrixView<T> c;           // m x n
  MatrixView<const T> bias;  // m x n with strides 0 where it repeats; data null: none
};

template <class T>
class Product {
 public:
  virtual ~Product() = default;
  // Checked by the caller: shapes, overlap, and m, n, k > 0 and alpha != 0. Runs in the caller's floating-point environment.
  virtual void run(const Call<T>& call, int threads) const = 0;
  // False where the order has no value for this alpha and beta: the reference says why.
  virtual bool can_run(T alpha, T beta) const = 0;
  // For small products with B and C in rows: nothing but tiles, listed when the product was made. The same checks, and
  // alpha = 1, beta = 0, no bias, one thread. False, with nothing done: not such a product.
  virtual bool run_small(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) const = 0;
  // Name of the kernel, e.g. "sgemm_avx2_6x16_fma".
  virtual std::string kernel() const = 0;
};

// `isa` as resolve_isa gives it; m, n, k > 0. Null where the tree of this order is not a program.
template <class T>
std::unique_ptr<Product<T>> make_product(const Order& order, Index m, Index n, Index k, const std::string& isa);

}  // namespace samebits::cpu
