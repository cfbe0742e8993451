// SPDX-License-Identifier: Apache-2.0
#include "samebits/cuda.h"

#include "cuda/device_memory.h"
#include "cuda/plan.h"

namespace samebits::cuda {
namespace {

DeviceLimits limits() {
  const Device device = current_device();
  return {device.architecture, device.multiprocessors, device.shared_per_block};
}

template <class V>
DeviceMemory upload(const std::vector<V>& values) {
  return values.empty() ? DeviceMemory() : DeviceMemory(values.data(), values.size() * sizeof(V));
}

template <class T>
void one_product(Stream stream, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, const Order& order, Bias<T> bias) {
  const Plan<T> plan(order, c.rows, c.cols, a.cols);
  const DeviceMemory workspace(plan.workspace_bytes());
  plan.run(stream, alpha, a, b, beta, c, bias, workspace.data(), plan.workspace_bytes());
  synchronize(stream);
}

}  // namespace

template <class T>
struct Plan<T>::Impl {
  LaunchPlan<T> plan;
  DeviceMemory runs, pieces, map;
  explicit Impl(LaunchPlan<T> p)
      : plan(std::move(p)), runs(upload(plan.program().runs)), pieces(upload(plan.program().pieces)), map(upload(plan.program().map)) {}
};

template <class T>
Plan<T>::Plan(const Order& order, Index m, Index n, Index k) : impl_(std::make_unique<Impl>(LaunchPlan<T>(order, m, n, k, limits()))) {}
template <class T>
Plan<T>::~Plan() = default;
template <class T>
Plan<T>::Plan(Plan&&) noexcept = default;
template <class T>
Plan<T>& Plan<T>::operator=(Plan&&) noexcept = default;

template <class T>
std::size_t Plan<T>::workspace_bytes() const {
  return impl_->plan.workspace_bytes();
}
template <class T>
std::string Plan<T>::kernel() const {
  return impl_->plan.kernel();
}

template <class T>
void Plan<T>::run(Stream stream, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, Bias<T> bias, void* workspace,
                  std::size_t workspace_bytes) const {
  const auto executor = stream_executor(stream);
  impl_->plan.run(*executor,
                  {static_cast<const DeviceRun*>(impl_->runs.data()), static_cast<const Piece*>(impl_->pieces.data()),
                   static_cast<const std::uint32_t*>(impl_->map.data())},
                  alpha, a, b, beta, c, bias, workspace, workspace_bytes);
}

template class Plan<float>;
template class Plan<double>;

void gemm(Stream stream, float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta, MatrixView<float> c, const Order& order,
          Bias<float> bias) {
  one_product(stream, alpha, a, b, beta, c, order, bias);
}
void gemm(Stream stream, double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta, MatrixView<double> c, const Order& order,
          Bias<double> bias) {
  one_product(stream, alpha, a, b, beta, c, order, bias);
}

}  // namespace samebits::cuda
