// SPDX-License-Identifier: Apache-2.0
// PyTorch on x86-64 CPUs: aten/src/ATen/native (Linear.cpp, LinearAlgebra.cpp), the wheels' own MKL.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

std::optional<Order> order(const Call& call, const Keys& keys) {
  const std::string& blas = choice(keys, "blas", {"mkl", "native"});
  const std::string& dispatch = choice(keys, "dispatch", {"amd", "avx512", "avx2"});
  // bmm: a small product is a loop compiled without FMA.
  if (batched_b(call)) {
    const Batch calls = batch(call);
    Areas areas(calls.inner.m, call.n);
    areas.rest("mul");
    if (calls.inner.m * call.n * call.k < 400) return areas.repeated(calls.outer).order();
    if (blas == "mkl") return {};
  }
  if (blas == "native") {
    // BlasKernel.cpp: both operands along k: four partial sums, the tail onto the first; else C is updated in place.
    Areas areas(call.m, call.n);
    areas.rest(call.trans_b && !call.trans_a ? "lanes(4, fold=left, tail=lane0) > mul"
               : call.bias                   ? "epilogue(c=seed) > mul"
                                             : "mul");
    return areas.order();
  }
  Call one = call;  // x (.., K) is folded to two dimensions
  one.a_offset = static_cast<unsigned>(number(keys, "offset", 0, 63));
  const auto areas = mkl_gemm(one, dispatch);
  if (!areas) return {};
  return areas->order();
}

}  // namespace

Profile pytorch_cpu() {
  return {"pytorch-cpu",
          "PyTorch 2.5 on x86-64 CPUs (wheels with MKL 2024.2)",
          {"PyTorch 2.5.1, AMD CPU: every recorded case, all elements", "its MKL (2024.2) run alone: see mkl",
           "Intel CPUs: see mkl; blas=native: source reading only; large bmm and threads that divide the product: no rule"},
          {{"dispatch", {"amd", "avx512", "avx2"}, "what MKL takes the CPU for"},
           {"offset", {"0", "4", "8", "12"}, "address of the left operand modulo 16"},
           {"blas", {"mkl", "native"}, "built with MKL, or without any BLAS"}},
          order};
}

}  // namespace samebits::profiles
