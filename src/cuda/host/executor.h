// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "cuda/host/simulator.h"
#include "cuda/kernels.h"

namespace samebits::cuda::sim {

// Runs our kernels in the simulator; adds up the shared-memory accesses by kernel.
class SimulatedExecutor : public Executor {
 public:
  explicit SimulatedExecutor(const Options& options = {}) : options_(options) {}
  void launch(KernelId id, int blocks, std::size_t shared_bytes, const void* arguments) override;

  const std::map<std::string, Report>& reports() const { return reports_; }

 private:
  Options options_;
  std::map<std::string, Report> reports_;
};

}  // namespace samebits::cuda::sim
