// SPDX-License-Identifier: Apache-2.0
// The CUDA interface links in every build, and says in words when there is no kernel or no device.
#include <samebits/cuda.h>

#include <cstdio>

int main() {
  try {
    const auto device = samebits::cuda::current_device();
    std::printf("%s\n", device.name.c_str());
  } catch (const samebits::Error& e) {
    std::printf("%s\n", e.what());
    if (e.code() != samebits::Code::unsupported) return 1;
  }
}
