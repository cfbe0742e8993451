// SPDX-License-Identifier: Apache-2.0
#include "samebits/gemm.h"

#include <fmt/format.h>

#include <cstdlib>

#include "gemm/arguments.h"
#include "reference/reference.h"

namespace samebits {

template <class T>
struct Plan<T>::Impl {
  Order order;
  Index m, n, k;
};

template <class T>
Plan<T>::Plan(const Order& order, Index m, Index n, Index k, const Context& context)
    : impl_(std::make_unique<Impl>(Impl{order, m, n, k})) {
  if (m < 0 || n < 0 || k < 0) throw Error(Code::invalid_argument, fmt::format("negative size in {} x {} x {}", m, n, k));
  if (k > Index{0xffffffff}) throw Error(Code::invalid_argument, fmt::format("k = {} exceeds 2^32 - 1", k));
  if (!context.isa.empty() && context.isa != "reference")
    throw Error(Code::unsupported, fmt::format("no kernels for isa \"{}\" in this build", context.isa));
  if (order.is_profile()) throw Error(Code::unsupported, "a profile is an order for one call: resolve it first");
  order.check_shape(m, n);
}
template <class T>
Plan<T>::~Plan() = default;
template <class T>
Plan<T>::Plan(Plan&&) noexcept = default;
template <class T>
Plan<T>& Plan<T>::operator=(Plan&&) noexcept = default;

template <class T>
void Plan<T>::run(T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, Bias<T> bias) const {
  check_arguments(alpha, a, b, c, bias);
  if (c.rows != impl_->m || c.cols != impl_->n || a.cols != impl_->k)
    throw Error(Code::invalid_argument, fmt::format("the plan is for {} x {} x {}, not {} x {} x {}", impl_->m, impl_->n,
                                                    impl_->k, c.rows, c.cols, a.cols));
  reference::gemm(alpha, a, b, beta, c, impl_->order, bias);
}

template <class T>
std::string Plan<T>::kernel() const {
  return "reference";
}

template class Plan<float>;
template class Plan<double>;

namespace {

template <class T>
void batch(T alpha, MatrixView<const T> a, Index a_batch, MatrixView<const T> b, Index b_batch, T beta, MatrixView<T> c,
           Index c_batch, Index count, const Order& order, const Context& context) {
  if (count < 0) throw Error(Code::invalid_argument, fmt::format("gemm_batch: negative count {}", count));
  if (count > 1 && c_batch == 0) throw Error(Code::invalid_argument, "gemm_batch: all products would write the same C");
  const Plan<T> plan(order, c.rows, c.cols, a.cols, context);
  for (Index i = 0; i < count; ++i) {
    plan.run(alpha, a, b, beta, c);
    a.data += a_batch;
    b.data += b_batch;
    c.data += c_batch;
  }
}

}  // namespace

void gemm(float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta, MatrixView<float> c, const Order& order,
          const Context& context, Bias<float> bias) {
  Plan<float>(order, c.rows, c.cols, a.cols, context).run(alpha, a, b, beta, c, bias);
}
void gemm(double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta, MatrixView<double> c,
          const Order& order, const Context& context, Bias<double> bias) {
  Plan<double>(order, c.rows, c.cols, a.cols, context).run(alpha, a, b, beta, c, bias);
}

void gemm_batch(float alpha, MatrixView<const float> a, Index a_batch, MatrixView<const float> b, Index b_batch, float beta,
                MatrixView<float> c, Index c_batch, Index count, const Order& order, const Context& context) {
  batch(alpha, a, a_batch, b, b_batch, beta, c, c_batch, count, order, context);
}
void gemm_batch(double alpha, MatrixView<const double> a, Index a_batch, MatrixView<const double> b, Index b_batch, double beta,
                MatrixView<double> c, Index c_batch, Index count, const Order& order, const Context& context) {
  batch(alpha, a, a_batch, b, b_batch, beta, c, c_batch, count, order, context);
}

std::vector<KernelInfo> kernels() { return {{"reference", "reference", true, true}}; }

}  // namespace samebits
