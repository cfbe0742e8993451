// SPDX-License-Identifier: Apache-2.0
// The backends that need a GPU, for the registry.
#pragma once

#include <memory>
#include <string>

#include "cuda/device_memory.h"
#include "samebits/backend.h"

namespace samebits::cuda {

// Throw Error(backend) or Error(unsupported) with the reason when not available, Error(syntax) for unknown options.
//   cuda, cuda(order=ORDER)
//   cublas, cublaslt, each (mode=default|tf32|pedantic, workspace=BYTES, library=PATH)
std::unique_ptr<Backend> open_cuda(const std::string& specification);
std::unique_ptr<Backend> open_cublas(const std::string& specification);
std::unique_ptr<Backend> open_cublaslt(const std::string& specification);
// By the specification's name.
std::unique_ptr<Backend> open_cuda_backend(const std::string& specification);

// Where cuBLAS finds its operands: the device's memory, or in tests, with a stand-in library, the host's.
struct Memory {
  void* (*allocate)(std::size_t);
  void (*release)(void*) noexcept;
  void (*copy_in)(void*, const void*, std::size_t);
  void (*copy_out)(void*, const void*, std::size_t);
  void (*require)();  // throws when there is no device
};
extern const Memory device_space;

// cuBLAS on operands that are in device memory already.
class DeviceProduct {
 public:
  virtual ~DeviceProduct() = default;
  virtual void on_device(const BackendCall<float>& call) = 0;
  virtual void on_device(const BackendCall<double>& call) = 0;
};
std::unique_ptr<DeviceProduct> open_cublas_on_device(const std::string& specification);

std::unique_ptr<Backend> open_cublas_in(const std::string& specification, const Memory& memory);
std::unique_ptr<Backend> open_cublaslt_in(const std::string& specification, const Memory& memory);

}  // namespace samebits::cuda
