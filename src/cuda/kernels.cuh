// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace samebits::cuda::gpu {

extern const void* const kernel_functions[];  // by KernelId

}  // namespace samebits::cuda::gpu
