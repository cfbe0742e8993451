// SPDX-License-Identifier: Apache-2.0
// The runtime that samebits-gpucheck sees in its test: the simulator for a device, the host's memory for the device's.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "cuda/device_memory.h"
#include "cuda/host/executor.h"

namespace samebits::cuda {

void require_device() {}
Device current_device() { return {"the simulator (no GPU)", 80, 4, 166912}; }

void* allocate_on_device(std::size_t bytes) {
  void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p) throw std::bad_alloc();
  return p;
}
void release_on_device(void* p) noexcept { std::free(p); }
void copy_to_device(void* to, const void* host, std::size_t bytes) { std::memcpy(to, host, bytes); }
void copy_to_host(void* host, const void* from, std::size_t bytes) { std::memcpy(host, from, bytes); }

std::unique_ptr<Executor> stream_executor(Stream) { return std::make_unique<sim::SimulatedExecutor>(sim::Options{.architecture = 80}); }
void synchronize(Stream) {}

double seconds(void (*work)(void*), void* context) {
  const auto begin = std::chrono::steady_clock::now();
  work(context);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace samebits::cuda
