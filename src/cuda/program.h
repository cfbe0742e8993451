// SPDX-License-Identifier: Apache-2.0
// An order for one K, in the form that kernels execute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/arguments.h"
#include "samebits/order.h"

namespace samebits::cuda {

struct DeviceProgram {
  std::vector<DeviceRun> runs;
  std::vector<Piece> pieces;       // one: the whole program
  std::vector<std::uint32_t> map;  // packed position -> k, or PackArguments::padding; empty: identity
  std::uint32_t packed_k = 0;
  std::uint32_t depth = 0;         // greatest number of tiles on the stack
  RunOp op = RunOp::fma;           // of all runs, or mixed
  bool wide = false;               // float inputs, all sums in double
  int block = 0, fraction = 0;     // mma(L, F)
  InputFormat input = InputFormat::none;
  bool scales_a = false;           // epilogue(alpha=a)
  bool by_pieces = false;          // epilogue(alpha=block, c=first): the pieces are added by the fold kernel always
  bool seeded = false;             // epilogue(c=seed): run 0 merges what run 1 starts from

  bool packs() const { return !map.empty() || input != InputFormat::none || wide || op == RunOp::mma || scales_a; }
};

// Throws Error(unsupported), naming the stage, for an order that has no CUDA kernel.
DeviceProgram device_program(const Order& order, std::size_t k, bool double_inputs);

// Cuts the program into the pieces that its outermost left fold adds, for at most `most` blocks; false, and nothing is
// changed, where it has no such fold or more pieces.
bool cut(DeviceProgram& program, std::size_t most);

}  // namespace samebits::cuda
