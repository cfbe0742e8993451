// SPDX-License-Identifier: Apache-2.0
// C <- alpha*A*B + beta*C + bias on an NVIDIA GPU, in a chosen accumulation order: the bits that gemm() gives on the CPU.
// Present in every build; without CUDA or without a device the functions throw Error(unsupported) that says so.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "samebits/gemm.h"

namespace [[gnu::visibility("default")]] samebits {
namespace cuda {

// A cudaStream_t; null is the default stream.
using Stream = void*;

struct Device {
  std::string name;
  int architecture = 0;  // compute capability * 10: 80, 90, ...
  int multiprocessors = 0;
  int shared_per_block = 0;  // bytes
};
// The current device.
Device current_device();

// Order x shape, compiled for the current device; holds tables in device memory. The launches of one plan may be in flight
// on several streams at once, each with its own workspace.
template <class T>
class Plan {
 public:
  // Throws Error(unsupported), naming the stage that has no kernel, or the architecture and the tensor-core block it offers.
  Plan(const Order& order, Index m, Index n, Index k);
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  std::size_t workspace_bytes() const;
  // e.g. "sgemm_simt_128x128x16_fma_vv"
  std::string kernel() const;

  // Views and bias point to device memory, with any strides; `workspace` too, workspace_bytes() of it, aligned to 256 bytes.
  // Only enqueues. Throws Error(invalid_argument) or Error(unsupported) before anything is enqueued; Error(backend) with
  // CUDA's words when a launch fails. C may overlap neither A, B nor the bias: this is not checked.
  void run(Stream stream, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c, Bias<T> bias,
           void* workspace, std::size_t workspace_bytes) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One product: makes a plan and its workspace, runs, and waits for the stream.
void gemm(Stream stream, float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta, MatrixView<float> c,
          const Order& order = {}, Bias<float> bias = {});
void gemm(Stream stream, double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta, MatrixView<double> c,
          const Order& order = {}, Bias<double> bias = {});

}  // namespace cuda
}  // namespace samebits
