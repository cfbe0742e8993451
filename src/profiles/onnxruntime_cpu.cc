// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's CPU provider: MLAS (onnxruntime/core/mlas/lib: sgemm.cpp, dgemm.cpp, SgemmKernelM1*Avx.S).
#include <fmt/format.h>

#include <algorithm>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

constexpr Index packed_stride_k = 256;      // MLAS_SGEMM_PACKED_STRIDEK
constexpr Index thread_complexity = 65536;  // MLAS_SGEMM_THREAD_COMPLEXITY: products per thread
constexpr Index maximum_threads = 16;

struct Mlas {
  DType type;
  Index k;
  bool trans_a, trans_b, packed;
  std::string op;  // leaf op of the matrix kernels
  bool bias_first;

  // Chunks of q; with a bias in C beforehand the running sum begins with it.
  std::string chunks(Index q, std::string_view leaf) const {
    const std::string first = bias_first ? "epilogue(c=first) > " : "";
    return k <= q ? fmt::format("{}{}", first, leaf) : fmt::format("{}chunks({}) > {}", first, q, leaf);
  }

  // Columns n of one thread's part decide the length of a block of K.
  Index stride_k(Index n) const {
    Index stride_n = type == DType::f32 ? 128 : 64, stride = 128;
    if (n >= k) {
      while (stride / 2 >= k) stride_n *= 2, stride /= 2;
    } else if (!trans_a) {
      while (stride_n > 16 && stride_n / 2 >= n) stride *= 2, stride_n /= 2;
    }
    return stride;
  }

  // M1 kernel: groups of four k, then of two, then of one, each summed before it joins C.
  std::string groups() const {
    std::string text = chunks(4, "mul");
    if (k % 4 != 3 || k < 4) return k == 3 ? chunks(2, "mul") : text;
    text = bias_first ? "epilogue(c=first) > chunks(" : "chunks(";
    for (Index i = 0; i < k / 4; ++i) text += "4,";
    return text + "2,1) > mul";
  }

  // M1 kernel for a transposed B: eight lanes; the fold depends on how many outputs are left.
  static Areas outputs(Index m, Index n) {
    const Index count = std::max(m, n), fours = count / 4 * 4, twos = fours + (count - fours) / 2 * 2;
    auto lanes = [](std::string_view how) { return fmt::format("lanes(8, fold={}, tail=lanes) > mul", how); };
    Areas areas(m, n);
    auto add = [&](Index begin, Index end, std::string order) {
      const Range range{begin, end, 1};
      areas.add(n == 1 ? range : Range{0, 1, 1}, n == 1 ? Range{0, 1, 1} : range, std::move(order));
    };
    add(0, fours, lanes("tree(0 + 1 + 2 + 3 + (4 + 5 + 6 + 7))"));
    add(fours, twos, lanes("tree(0 + 2 + (4 + 6) + (1 + 3 + (5 + 7)))"));
    areas.rest(lanes("pairs"));
    return areas;
  }

  // One thread's m x n part.
  Areas part(Index m, Index n) const {
    Areas areas(m, n);
    const bool vector = type == DType::f32 && !packed;
    if (vector && m == 1 && !trans_a) {
      if (trans_b) return outputs(m, n);
      areas.rest(groups());
    } else if (vector && n == 1 && !trans_b) {
      if (!trans_a) return outputs(m, n);
      areas.rest(groups());
    } else {
      areas.rest(chunks(packed ? packed_stride_k : stride_k(n), op));
    }
    return areas;
  }
};

std::optional<Order> order(const Call& call, const Keys& keys) {
  const bool gemm = choice(keys, "op", {"matmul", "gemm"}) == "gemm";
  const bool constant = choice(keys, "b", {"const", "input"}) == "const";
  const bool fused = choice(keys, "isa", {"fma", "avx"}) == "fma";
  const Index pool = number(keys, "threads", 1, 1024);

  const bool several = batched_b(call);
  const Batch calls = several ? batch(call) : Batch{1, call};
  const Index m = calls.inner.m, n = call.n, k = call.k;
  const Mlas mlas{call.dtype,
                  k,
                  call.trans_a,
                  call.trans_b,
                  call.dtype == DType::f32 && constant && !several,
                  fused ? "fma" : "mul",
                  gemm && call.bias};

  const double complexity = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double wanted = std::min<double>(complexity / thread_complexity + 1, maximum_threads);
  const Index wanted_threads = std::min(static_cast<Index>(wanted), pool);
  // float: one call for the whole batch; double: one for each product.
  const Index threads = call.dtype == DType::f32 ? std::max<Index>(1, wanted_threads / calls.outer) : wanted_threads;

  // Equal parts, the first ones one unit longer; columns in units of 16 (double: 8), rows in units of one.
  const Index unit = n > m ? (call.dtype == DType::f32 ? 16 : 8) : 1;
  const Index units = n > m ? ceil_div(n, unit) : m, parts = std::min(threads, units);
  Areas areas(m, n);
  for (Index part = 0, begin = 0; part < parts; ++part) {
    const Index length = unit * (units / parts + (part < units % parts ? 1 : 0));
    const Areas piece = n > m ? mlas.part(m, std::min(length, n - begin)) : mlas.part(length, n);
    areas.add(piece, n > m ? 0 : begin, n > m ? begin : 0);
    areas.rest(piece.rest());
    begin += length;
  }
  return areas.repeated(calls.outer).order();
}

}  // namespace

Profile onnxruntime_cpu() {
  return {"onnxruntime-cpu",
          "ONNX Runtime, CPU provider (MLAS) on x86-64",
          {"ONNX Runtime 1.20.1 (AVX-512): every recorded case, all elements",
           "ONNX Runtime 1.20.1 run: 596 products (constant and input B, one row, one column, batches, bias, float32 and "
           "float64, 1 to 3 threads), every "
           "element",
           "isa=avx (no FMA) and more than 3 threads: source reading only; AArch64 is not covered"},
          {{"b", {"const", "input"}, "B is a constant initializer (prepacked) or an input"},
           {"op",
            {"matmul", "gemm"},
            "node that runs: MatMul (a bias is added at the end), or Gemm (the bias comes first), which the optimizer also "
            "makes of "
            "MatMul + Add in float32"},
           {"threads", {"1", "2", "4", "8"}, "intra-op threads"},
           {"isa", {"fma", "avx"}, "FMA3 and AVX-512 kernels, or the AVX and SSE2 ones without FMA"}},
          order};
}

}  // namespace samebits::profiles
