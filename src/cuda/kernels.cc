// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels.h"

namespace samebits::cuda {
namespace {

using Family = KernelDescription::Family;

template <class S>
constexpr KernelDescription describe(const char* name, Family family, bool wide_output, RunOp op, Access a, Access b, int instruction_k) {
  return {name, family, sizeof(typename S::value) == 8, wide_output, op, a, b, S::BM, S::BN, S::BK, S::threads, S::blocks,
          S::pipeline_bytes, S::level_bytes, instruction_k};
}

constexpr KernelDescription simple(const char* name, Family family, bool wide_value, bool wide_output, int shared_bytes) {
  return {name, family, wide_value, wide_output, RunOp::mixed, Access::element, Access::element, 32, 32, 0, 256, 4, shared_bytes, 0, 0};
}

constexpr KernelDescription table[] = {
#define SIMT(name, Out, S, op, a, b) describe<S>(#name, Family::simt, sizeof(Out) == 8, RunOp::op, Access::a, Access::b, 0),
#define DMMA(name, S, a, b) describe<S>(#name, Family::dmma, true, RunOp::fma, Access::a, Access::b, 4),
#define TF32(name, S, k) describe<S>(#name, Family::tf32, false, RunOp::mma, Access::vector, Access::vector, k),
#define PACK(name, In, T) simple(#name, Family::pack, sizeof(In) == 8, sizeof(T) == 8, 32 * 33 * sizeof(T)),
#define FOLD(name, T, Out) simple(#name, Family::fold, sizeof(T) == 8, sizeof(Out) == 8, 0),
#include "cuda/kernels.inc"
#undef SIMT
#undef DMMA
#undef TF32
#undef PACK
#undef FOLD
};

}  // namespace

std::span<const KernelDescription> kernel_table() { return table; }

}  // namespace samebits::cuda
