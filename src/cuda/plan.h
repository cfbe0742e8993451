// SPDX-License-Identifier: Apache-2.0
// Order x shape x device -> the kernels to run. The same for a GPU and for the simulator.
#pragma once

#include <string>

#include "cuda/kernels.h"
#include "cuda/program.h"
#include "samebits/gemm.h"

namespace samebits::cuda {

struct DeviceLimits {
  int architecture = 80;          // compute capability * 10
  int multiprocessors = 108;
  int shared_per_block = 166912;  // bytes, after opting in to the most
};

// Left alone, the plan chooses. None of these changes a bit.
struct Choices {
  enum class Tile : std::uint8_t { automatic, large, small } tile = Tile::automatic;
  enum class Pieces : std::uint8_t { automatic, one_block, several_blocks } pieces = Pieces::automatic;
  bool tensor_f64 = true;  // DMMA where it can
};

template <class T>
class LaunchPlan {
 public:
  // Throws Error(unsupported), naming the stage or what the architecture offers instead.
  LaunchPlan(const Order& order, Index m, Index n, Index k, const DeviceLimits& device, const Choices& choices = {});

  std::size_t workspace_bytes() const { return workspace_bytes_; }
  std::string kernel() const;  // as it is for operands that it can read by vectors
  const DeviceProgram& program() const { return program_; }

  // The program's arrays, where kernels can read them.
  struct Tables {
    const DeviceRun* runs;
    const Piece* pieces;
    const std::uint32_t* map;
  };
  // Throws Error(invalid_argument), or Error(unsupported) for an epilogue that has no kernel, before anything is launched.
  void run(Executor& executor, const Tables& tables, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta,
           MatrixView<T> c, Bias<T> bias, void* workspace, std::size_t workspace_bytes) const;

 private:
  template <class V>  // float or double: what the kernel adds
  void launch(Executor& executor, const Tables& tables, Operand<V> a, Operand<V> b, Finish<T> finish, FoldArguments<V, T> fold,
              char* workspace) const;
  template <class V>
  void run_as(Executor& executor, const Tables& tables, T scale, MatrixView<const T> a, MatrixView<const T> b, Finish<T> finish,
              const FoldArguments<V, T>& fold, char* workspace) const;
  bool folds() const { return program_.pieces.size() > 1 || program_.by_pieces; }
  KernelId kernel_for(Access a, Access b) const;
  int resident_blocks(std::int64_t tiles) const;

  Index m_, n_, k_;
  DeviceLimits device_;
  DeviceProgram program_;
  Epilogue epilogue_;
  OutRounding out_;
  KernelId family_;  // its first kernel; the others differ in how they read A and B
  std::size_t batch_ = 1;  // pieces in one launch
  int shared_levels_ = 0;
  std::size_t packed_a_ = 0, packed_b_ = 0, stack_ = 0, partial_ = 0, workspace_bytes_ = 0;  // places in the workspace
};

}  // namespace samebits::cuda
