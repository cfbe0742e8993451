// SPDX-License-Identifier: Apache-2.0
// The kernels, compiled for GPUs, under the names of kernels.inc.
#include "cuda/dmma.cuh"
#include "cuda/pack.cuh"
#include "cuda/simt.cuh"
#include "cuda/tf32.cuh"

namespace samebits::cuda::gpu {

// With two blocks on a multiprocessor ptxas has 128 registers for the large FP32 tile, which on sm_100 is too few: it spills.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
template <class S>
constexpr int least_blocks = S::threads == 256 ? 1 : S::blocks;
#else
template <class S>
constexpr int least_blocks = S::blocks;
#endif

#define GEMM(name, S, Out, ...)                                                                            \
  extern "C" __global__ void __launch_bounds__(S::threads, least_blocks<S>)                                \
      name(const __grid_constant__ GemmArguments<S::value, Out> g) {                                       \
    gemm_blocks<__VA_ARGS__>(g);                                                                           \
  }
#define SIMT(name, Out, S, op, a, b) GEMM(name, S, Out, Simt<S, RunOp::op, Access::a, Access::b>)
#define DMMA(name, S, a, b) GEMM(name, S, double, Dmma<S, Access::a, Access::b>)
#define TF32(name, S, k) GEMM(name, S, float, Tf32<S, k>)
#define PACK(name, In, T) \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ PackArguments<In, T> g) { Pack<In, T>::run(g); }
#define FOLD(name, T, Out) \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ FoldArguments<T, Out> g) { Fold<T, Out>::run(g); }
#include "cuda/kernels.inc"
#undef SIMT
#undef DMMA
#undef TF32
#undef PACK
#undef FOLD

extern __attribute__((visibility("hidden"))) const void* const kernel_functions[];
const void* const kernel_functions[] = {
#define SIMT(name, ...) reinterpret_cast<const void*>(&name),
#define DMMA SIMT
#define TF32 SIMT
#define PACK SIMT
#define FOLD SIMT
#include "cuda/kernels.inc"
};

}  // namespace samebits::cuda::gpu
