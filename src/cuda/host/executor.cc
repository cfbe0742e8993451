// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled for the simulator.
#include "cuda/host/executor.h"

#include "cuda/dmma.cuh"
#include "cuda/pack.cuh"
#include "cuda/simt.cuh"
#include "cuda/tf32.cuh"
#include "reference/float_environment.h"

namespace samebits::cuda::sim {
namespace {

template <class K, class T, class Out>
void gemm_kernel(GemmArguments<T, Out> g) {
  gemm_blocks<K>(g);
}
template <class In, class T>
void pack_kernel(PackArguments<In, T> g) {
  Pack<In, T>::run(g);
}
template <class T, class Out>
void fold_kernel(FoldArguments<T, Out> g) {
  Fold<T, Out>::run(g);
}

template <class Arguments, void (*kernel)(Arguments)>
Report start(const void* arguments, int blocks, int threads, std::size_t shared_bytes, const Options& options) {
  return sim::launch(kernel, *static_cast<const Arguments*>(arguments), blocks, threads, shared_bytes, options);
}

using Start = Report (*)(const void*, int, int, std::size_t, const Options&);
constexpr Start starts[] = {
#define GEMM(T, Out, ...) start<GemmArguments<T, Out>, gemm_kernel<__VA_ARGS__, T, Out>>,
#define SIMT(name, Out, S, op, a, b) GEMM(S::value, Out, Simt<S, RunOp::op, Access::a, Access::b>)
#define DMMA(name, S, a, b) GEMM(double, double, Dmma<S, Access::a, Access::b>)
#define TF32(name, S, k) GEMM(float, float, Tf32<S, k>)
#define PACK(name, In, T) start<PackArguments<In, T>, pack_kernel<In, T>>,
#define FOLD(name, T, Out) start<FoldArguments<T, Out>, fold_kernel<T, Out>>,
#include "cuda/kernels.inc"
};

}  // namespace

void SimulatedExecutor::launch(KernelId id, int blocks, std::size_t shared_bytes, const void* arguments) {
  const FloatEnvironment environment;  // a device knows nothing of the caller's rounding mode
  const auto& kernel = description(id);
  Report report = starts[static_cast<std::size_t>(id)](arguments, blocks, kernel.threads, shared_bytes, options_);
  auto& sum = reports_[kernel.name].shared;
  for (auto& access : report.shared) {
    auto found = sum.begin();
    while (found != sum.end() && found->where != access.where) ++found;
    if (found == sum.end()) {
      sum.push_back(access);
    } else {
      found->warps += access.warps;
      found->phases += access.phases;
      found->replays += access.replays;
    }
  }
}

}  // namespace samebits::cuda::sim
