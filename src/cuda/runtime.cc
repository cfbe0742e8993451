// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "cuda/device_memory.h"

namespace samebits::cuda {
namespace gpu {
extern const void* const kernel_functions[];  // by KernelId, kernels.cu
}

namespace {

void check(cudaError_t status, const std::string& what, Code code = Code::backend) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // errors that do not stick are not left for the next call
  throw Error(status == cudaErrorMemoryAllocation ? Code::out_of_memory : code, fmt::format("{}: {} (CUDA error {})", what, cudaGetErrorString(status), static_cast<int>(status)));
}

class StreamExecutor final : public Executor {
 public:
  explicit StreamExecutor(cudaStream_t stream) : stream_(stream) {}
  void launch(KernelId id, int blocks, std::size_t shared_bytes, const void* arguments) override {
    const auto& kernel = description(id);
    const void* function = gpu::kernel_functions[static_cast<int>(id)];
    constexpr std::size_t without_asking = 48 * 1024;
    if (shared_bytes > without_asking)
      check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)), kernel.name);
    void* parameters[] = {const_cast<void*>(arguments)};
    check(cudaLaunchKernel(function, dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(kernel.threads)), parameters, shared_bytes, stream_),
          kernel.name);
  }

 private:
  cudaStream_t stream_;
};

}  // namespace

void require_device() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "no CUDA device", Code::unsupported);
  if (count == 0) throw Error(Code::unsupported, "no CUDA device");
}

Device current_device() {
  require_device();
  int device = 0;
  check(cudaGetDevice(&device), "no CUDA device", Code::unsupported);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return {properties.name, properties.major * 10 + properties.minor, properties.multiProcessorCount, static_cast<int>(properties.sharedMemPerBlockOptin)};
}

void* allocate_on_device(std::size_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, bytes), fmt::format("{} bytes of device memory", bytes));
  return p;
}
void release_on_device(void* p) noexcept { cudaFree(p); }
void copy_to_device(void* to, const void* host, std::size_t bytes) { check(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "copy to the device"); }
void copy_to_host(void* host, const void* from, std::size_t bytes) { check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "copy from the device"); }

std::unique_ptr<Executor> stream_executor(Stream stream) { return std::make_unique<StreamExecutor>(static_cast<cudaStream_t>(stream)); }
void synchronize(Stream stream) { check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the device"); }

double seconds(void (*work)(void*), void* context) {
  struct Event {
    cudaEvent_t event{};
    Event() { check(cudaEventCreate(&event), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(event); }
  } begin, end;
  check(cudaEventRecord(begin.event), "cudaEventRecord");
  work(context);
  check(cudaEventRecord(end.event), "cudaEventRecord");
  check(cudaEventSynchronize(end.event), "waiting for the device");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event, end.event), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

}  // namespace samebits::cuda
