// SPDX-License-Identifier: Apache-2.0
// The table of kernels, and who runs them: a GPU (launch.cu) or the simulator (host/executor.h).
#pragma once

#include <cstddef>
#include <span>

#include "cuda/arguments.h"
#include "cuda/shapes.h"

namespace samebits::cuda {

enum class KernelId : int {
#define SIMT(name, ...) name,
#define DMMA(name, ...) name,
#define TF32(name, ...) name,
#define PACK(name, ...) name,
#define FOLD(name, ...) name,
#include "cuda/kernels.inc"
#undef SIMT
#undef DMMA
#undef TF32
#undef PACK
#undef FOLD
};

struct KernelDescription {
  const char* name;
  enum class Family : std::uint8_t { simt, dmma, tf32, pack, fold } family;
  bool wide_value, wide_output;  // double instead of float
  RunOp op;
  Access access_a, access_b;
  int tile_m, tile_n, tile_k, threads;
  int blocks;          // on a multiprocessor, as compiled for
  int pipeline_bytes;  // shared memory of the stages
  int level_bytes;     // and of a stack level, of a block
  int instruction_k;   // tf32: products of one instruction
};

std::span<const KernelDescription> kernel_table();  // by KernelId
inline const KernelDescription& description(KernelId id) { return kernel_table()[static_cast<std::size_t>(id)]; }

// Starts kernels one after another. `arguments` points to what the kernel's family takes (arguments.h).
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void launch(KernelId id, int blocks, std::size_t shared_bytes, const void* arguments) = 0;
};

}  // namespace samebits::cuda
