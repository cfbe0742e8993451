// SPDX-License-Identifier: Apache-2.0
// oneDNN's dnnl_sgemm (src/cpu/x64/gemm: gemm_driver.cpp, the jit_avx2 and jit_avx512_core kernels). The matmul primitive
// has other kernels.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// One row or column (gemm/f32/common_f32.cpp hands it to a gemv): a chain where k is the outer loop, else dot products in
// eight lanes, over all sixteens of k and then over the eight, four, two and one that are left.
std::string one_row_or_column(const Call& call) {
  if (call.m == 1 ? !call.trans_b : call.trans_a) return "fma";
  std::vector<Index> pieces;
  if (call.k >= 16) pieces.push_back(call.k / 16 * 16);
  for (const Index left : {8, 4, 2, 1})
    if ((call.k & left) != 0) pieces.push_back(left);
  return fmt::format("chunks({}) > lanes(8, fold=tree(0 + 1 + (4 + 5) + (2 + 3 + (6 + 7))), tail=lanes) > fma",
                     fmt::join(pieces, ","));
}

std::optional<Order> order(const Call& call, const Keys& keys) {
  const bool avx512 = choice(keys, "isa", {"avx512", "avx2"}) == "avx512";
  if (call.dtype != DType::f32 || batched_b(call) || (call.trans_a && !avx512)) return {};
  const bool dots = call.trans_b && call.m < 16;  // a kernel for these comes first
  if (call.n == 1 && dots && !avx512) return {};
  if (call.m == 1 || (call.n == 1 && !dots)) {
    if (call.bias || call.threads > 1) return {};  // threads divide k
    Areas areas(call.m, call.n);
    areas.rest(one_row_or_column(call));
    return areas.order();
  }
  const Index q = avx512 ? 384 : 256;  // K blocks, the last two equal
  const std::string chunks = (call.bias ? "epilogue(c=first) > " : "") +
                             (call.k <= q ? std::string() : fmt::format("chunks({}, balance=half) > ", q));
  Areas areas(call.m, call.n);
  areas.rest(chunks + "fma");
  if (avx512) {
    if (dots && !call.trans_a) areas.rest("lanes(16, fold=halves, tail=lanes) > fma");
    return areas.order();
  }
  // 6 x 16 tiles; at most three rows or eight columns that are left sum even and odd k apart, one or two rows without FMA.
  // Many rows are cut in two; how more are cut is not known.
  const std::string even_odd = chunks + "lanes(2, fold=left, tail=chain) > ";
  const Index block = call.trans_b ? 144 : 72;
  if (call.m >= 2 * block) return {};
  const Index first = call.m > block ? ceil_div(call.m, 2) : call.m;
  for (const auto& [end, rows] : {std::pair{first, first}, {call.m, call.m - first}})
    if (const Index edge = rows % 6; edge <= 3)
      areas.add({end - edge, end, 1}, areas.all_cols(), even_odd + (edge < 3 ? "mul" : "fma"));
  const Index cols = call.n % 16 > 8 ? call.n : call.n / 16 * 16;
  areas.add(areas.all_rows(), {cols, call.n, 1}, even_odd + "fma");
  return areas.order();
}

}  // namespace

Profile onednn() {
  return {"onednn",
          "oneDNN's dnnl_sgemm on x86-64, one thread",
          {"oneDNN 2.6.3 (Debian) run with AVX-512 and AVX2: 207 products of random and edge shapes, every element; the "
           "tests probe more",
           "threads: AVX-512 only, as one thread; one row or column on several: no rule; A transposed with AVX2: no rule"},
          {{"isa", {"avx512", "avx2"}, "instruction set (DNNL_MAX_CPU_ISA)"}},
          order};
}

}  // namespace samebits::profiles
