// SPDX-License-Identifier: Apache-2.0
// What samebits-gpucheck measured on a GPU (docs/cuda.md gives the JSON): the orders of cuBLAS, in place of predictions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "samebits/explain.h"

namespace samebits::report {

struct GpuCheck {
  // One call, C = A*B in row-major terms with B stored n x k (TN) or k x n (NN).
  struct Call {
    std::string backend, mode, library, order;  // cublas or cublaslt; default, pedantic or tf32; the order, if reproduced
    Index m = 0, n = 0, k = 0;
    bool trans_b = false, reproduced = false;
    std::string text() const;  // "cublas(mode=default) TN"
  };
  std::string device;  // "NVIDIA H200 (sm_90)"
  std::vector<Call> calls;

  // Null where it was not measured.
  const Call* find(std::string_view backend, std::string_view mode, Index m, Index n, Index k, bool trans_b) const;
};

// Throws Error(io) where the file cannot be read, Error(syntax) where it is not the output of samebits-gpucheck. A run that
// found no GPU gives no calls and an empty device.
GpuCheck read_gpucheck(const std::filesystem::path& file);

// What the file says of a side of the report: which calls of this shape add in its order, or that none does, or that the
// shape was not measured although a GPU's profile predicts the order. Empty: nothing to say.
std::string gpu_note(const GpuCheck& check, const explain::Report& report, const explain::SideReport& side);

}  // namespace samebits::report
