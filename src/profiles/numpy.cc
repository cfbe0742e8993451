// SPDX-License-Identifier: Apache-2.0
// NumPy's matmul with its bundled OpenBLAS (numpy/_core/src/umath/matmul.c.src): one product for each outer index.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

std::optional<Order> order(const Call& call, const Keys& keys) {
  const std::string& core = openblas_core(keys, "core");
  const Threads threads = openblas_threads(keys, "openblas");
  const bool copies = choice(keys, "strided", {"loop", "copy"}) == "copy";
  const Batch calls = batch(call);
  const Call& one = calls.inner;
  const bool blas = copies || (call.a_contiguous && call.b_contiguous);
  Areas areas(one.m, one.n);
  if (!blas || one.k == 1) {
    areas.rest("mul");  // a triple loop through memory, or one product
  } else if (one.m == 1 && one.n == 1) {
    areas.rest(openblas_dot(one.dtype, one.k, core, threads));
  } else if (one.m == 1 || one.n == 1) {
    const auto outputs = openblas_gemv(one, core, one.m == 1 ? one.trans_b : !one.trans_a, threads);
    if (!outputs) return {};
    areas = *outputs;
  } else if (one.same_operand) {
    return {};  // syrk
  } else {
    areas = openblas_gemm(one, core, threads);
  }
  return areas.repeated(calls.outer).order();
}

}  // namespace

Profile numpy() {
  return {"numpy",
          "NumPy's matmul on x86-64 with its bundled OpenBLAS",
          {"NumPy 2.1.3 (OpenBLAS 0.3.27): every recorded case, all elements",
           "NumPy 2.1.3 run on Haswell and SkylakeX cores: 28 products a core of two to four dimensions, every element; see "
           "openblas",
           "strided operands: source reading only; a @ a.T (syrk): no rule"},
          {{"core",
            {"skylakex", "haswell"},
            "OpenBLAS core (OPENBLAS_CORETYPE): skylakex with AVX-512, else haswell; the wheels have no other"},
           {"threads", {"1", "2", "4", "8"}, "OpenBLAS threads"},
           {"openblas",
            {"0.3.27", "0.3.21"},
            "bundled OpenBLAS: 0.3.27 and later (NumPy 2), or 0.3.21 (1.24): other sizes use threads"},
           {"strided",
            {"loop", "copy"},
            "operands that BLAS cannot read: NumPy's own loop (before 2.3), or a copy (2.3 and later)"}},
          order};
}

}  // namespace samebits::profiles
