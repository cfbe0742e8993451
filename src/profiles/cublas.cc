// SPDX-License-Identifier: Apache-2.0
// cuBLAS, and what ONNX Runtime and PyTorch ask of it. Nothing here was run: predictions from source reading of the
// frameworks (onnxruntime/core/providers/cuda/math/matmul.cc, aten/src/ATen/cuda/CUDABlas.cpp) and from published
// measurements of cuBLAS kernels.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

constexpr const char* not_run = "prediction: source reading and published measurements; not run, no GPU result was recorded";

std::optional<Order> cublas_call(const Call& call, const Keys& keys) {
  const std::string& kernel = choice(keys, "kernel", {"chain", "sn2", "sn4", "tf32"});
  const std::string& arch = choice(keys, "arch", {"ampere", "hopper"});
  const std::string& rounding = choice(keys, "rounding", {"rna", "rne", "rz"});
  if (kernel == "tf32") {
    if (call.dtype != DType::f32) return {};
    return Order::parse(tf32_order(arch, rounding));
  }
  return Order::parse(cublas_order(kernel));
}

// The row-major product as a framework hands it over: with B transposed a "TN" call, otherwise "NN", where cuBLAS has
// kernels for few columns (rows of C).
Order framework_call(const Call& call, bool tf32, const Keys& keys) {
  const std::string& arch = choice(keys, "arch", {"ampere", "hopper"});
  const std::string& few = choice(keys, "few-rows", {"sn2", "sn4"});
  if (tf32 && call.dtype == DType::f32) return Order::parse(tf32_order(arch, "rna"));
  const bool few_rows = call.dtype == DType::f32 && !call.trans_a && !call.trans_b && call.m >= 2 && call.m <= 16;
  return Order::parse(cublas_order(few_rows ? few : "chain"));
}

const Key arch_key{"arch", {"ampere", "hopper"}, "GPU, where TF32 is used"};
const Key few_key{"few-rows", {"sn2", "sn4"}, "K is cut in two or four where C has 2 to 16 rows and B is not transposed"};

}  // namespace

std::string cublas_order(std::string_view kernel) {
  if (kernel == "sn2") return "split(2) > chunks(256) > fma";
  if (kernel == "sn4") return "split(4) > chunks(128) > fma";
  return "fma";
}

std::string tf32_order(std::string_view arch, std::string_view rounding) {
  return fmt::format("tf32({}) > mma({})", rounding, arch);
}

Profile cublas() {
  return {"cublas",
          "cuBLAS: one chain, the kernels for few columns, TF32 tensor cores (prediction)",
          {not_run},
          {{"kernel", {"chain", "sn2", "sn4", "tf32"}, "one chain; gemmSN with K cut in 2 or 4; TF32 tensor cores"},
           {"arch", {"ampere", "hopper"}, "GPU, where TF32 is used"},
           {"rounding", {"rna", "rne", "rz"}, "of the inputs to TF32; which one is not settled"}},
          cublas_call};
}

Profile onnxruntime_cuda() {
  return {"onnxruntime-cuda",
          "ONNX Runtime, CUDA provider, MatMul (prediction)",
          {not_run},
          {{"use_tf32", {"1", "0"}, "provider option; on by default"}, arch_key, few_key},
          [](const Call& call, const Keys& keys) -> std::optional<Order> {
            return framework_call(call, choice(keys, "use_tf32", {"0", "1"}) == "1", keys);
          }};
}

Profile pytorch_cuda() {
  return {
      "pytorch-cuda",
      "PyTorch on CUDA, matmul and linear (prediction)",
      {not_run},
      {{"allow_tf32", {"0", "1"}, "torch.backends.cuda.matmul.allow_tf32; off by default since 1.12"}, arch_key, few_key},
      [](const Call& call, const Keys& keys) -> std::optional<Order> {
        return framework_call(call, choice(keys, "allow_tf32", {"0", "1"}) == "1", keys);
      }};
}

}  // namespace samebits::profiles
