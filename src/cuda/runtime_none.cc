// SPDX-License-Identifier: Apache-2.0
#include "cuda/device_memory.h"

namespace samebits::cuda {
namespace {
[[noreturn]] void missing() { throw Error(Code::unsupported, "this build has no CUDA code (build with nvcc: ./run build --cuda)"); }
}  // namespace

void require_device() { missing(); }
Device current_device() { missing(); }
void* allocate_on_device(std::size_t) { missing(); }
void release_on_device(void*) noexcept {}
void copy_to_device(void*, const void*, std::size_t) { missing(); }
void copy_to_host(void*, const void*, std::size_t) { missing(); }
std::unique_ptr<Executor> stream_executor(Stream) { missing(); }
void synchronize(Stream) { missing(); }
double seconds(void (*)(void*), void*) { missing(); }

}  // namespace samebits::cuda
