// SPDX-License-Identifier: Apache-2.0
// The profiles, one function a file; profile.cc puts them in a row.
#pragma once

#include <optional>

#include "profiles/text.h"

namespace samebits::profiles {

Profile onnxruntime_cpu();
Profile openblas();
Profile numpy();
Profile pytorch_cpu();
Profile mkl();
Profile onednn();
Profile eigen();
Profile blis();
Profile jax_cpu();
Profile tensorflow_cpu();
Profile cublas();
Profile onnxruntime_cuda();
Profile pytorch_cuda();

// --- What one system does inside of another. Each adds its areas for `call`, one row-major product C = op(A) op(B).

// OpenBLAS. core: "haswell", "skylakex" or "cooperlake" (openblas_core gives it for a name of param.h).
const std::string& openblas_core(const Keys& keys, std::string_view key);
struct Threads {
  int count = 1;
  bool old = false;  // 0.3.21: threads already for smaller products
};
Threads openblas_threads(const Keys& keys, std::string_view version);
Areas openblas_gemm(const Call& call, const std::string& core, Threads threads);
// y = M x, outputs along the rows (n = 1) or the columns (m = 1) of C. dot_style: M's rows are contiguous (gemv_t). Nothing
// where threads divide K.
std::optional<Areas> openblas_gemv(const Call& call, const std::string& core, bool dot_style, Threads threads);
std::string openblas_dot(DType type, Index k, const std::string& core, Threads threads);

// MKL; dispatch: "amd", "avx2" or "avx512". Nothing where the library takes a path that is not known.
std::optional<Areas> mkl_gemm(const Call& call, const std::string& dispatch);

// Eigen: the length of blocks of K, at most `most`, when they are made about equal.
Index eigen_equal_blocks(Index k, Index most);

// cuBLAS; kernel: "chain", "sn2", "sn4".
std::string cublas_order(std::string_view kernel);
// TF32 tensor cores; arch: "ampere" or "hopper".
std::string tf32_order(std::string_view arch, std::string_view rounding);

}  // namespace samebits::profiles
