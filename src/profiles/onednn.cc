// SPDX-License-Identifier: Apache-2.0
// oneDNN's dnnl_sgemm (src/cpu/x64/gemm: gemm_driver.cpp, the jit_avx2 and jit_avx512_core kernels). The matmul primitive
// has other kernels.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

std::optional<Order> order(const Call& call, const Keys& keys) {
  const bool avx512 = choice(keys, "isa", {"avx512", "avx2"}) == "avx512";
  if (call.dtype != DType::f32 || call.trans_a || call.m == 1 || call.n == 1 || batched_b(call)) return {};
  const Index q = avx512 ? 384 : 256;  // K blocks, the last two equal
  const std::string chunks = (call.bias ? "epilogue(c=first) > " : "") +
                             (call.k <= q ? std::string() : fmt::format("chunks({}, balance=half) > ", q));
  Areas areas(call.m, call.n);
  areas.rest(chunks + "fma");
  if (avx512) {
    if (call.trans_b && call.m < 16) areas.rest("lanes(16, fold=halves, tail=lanes) > fma");
    return areas.order();
  }
  if (call.trans_b && call.m > 144) return {};  // blocks of rows that are not known
  // 6 x 16 tiles; at most three rows or eight columns that are left sum even and odd k apart, one or two rows without FMA.
  const std::string even_odd = chunks + "lanes(2, fold=left, tail=chain) > ";
  const Index rows = call.m % 6 > 3 ? call.m : call.m / 6 * 6, cols = call.n % 16 > 8 ? call.n : call.n / 16 * 16;
  areas.add({rows, call.m, 1}, areas.all_cols(), even_odd + (call.m - rows < 3 ? "mul" : "fma"));
  areas.add(areas.all_rows(), {cols, call.n, 1}, even_odd + "fma");
  return areas.order();
}

}  // namespace

Profile onednn() {
  return {"onednn",
          "oneDNN's dnnl_sgemm on x86-64, one thread",
          {"oneDNN 2.6.3 (Debian) run with AVX-512 and AVX2: 207 products of random and edge shapes, every element",
           "threads: source reading, not covered (the AVX2 path divides K among them)"},
          {{"isa", {"avx512", "avx2"}, "instruction set (DNNL_MAX_CPU_ISA)"}},
          order};
}

}  // namespace samebits::profiles
