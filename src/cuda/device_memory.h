// SPDX-License-Identifier: Apache-2.0
// The few things that we ask of the CUDA runtime. runtime.cc asks it, runtime_none.cc stands in where nothing was built.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "cuda/kernels.h"
#include "samebits/cuda.h"

namespace samebits::cuda {

// Throws Error(unsupported) with the reason when there is no usable device.
void require_device();

void* allocate_on_device(std::size_t bytes);  // aligned to 256
void release_on_device(void* p) noexcept;
void copy_to_device(void* to, const void* host, std::size_t bytes);
void copy_to_host(void* host, const void* from, std::size_t bytes);

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes) : data_(bytes > 0 ? allocate_on_device(bytes) : nullptr) {}
  DeviceMemory(const void* host, std::size_t bytes) : DeviceMemory(bytes) {
    if (bytes > 0) copy_to_device(data_, host, bytes);
  }
  ~DeviceMemory() {
    if (data_) release_on_device(data_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// Launches on the stream; throws Error(backend) with the kernel's name and CUDA's words.
std::unique_ptr<Executor> stream_executor(Stream stream);
void synchronize(Stream stream);
// Seconds that `work` takes on the default stream, by events.
double seconds(void (*work)(void*), void* context);

}  // namespace samebits::cuda
