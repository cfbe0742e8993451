// SPDX-License-Identifier: Apache-2.0
// BLIS (config/*/bli_cntx_init_*.c: KC and its maximum; kernels/haswell/3/sup: the small and skinny path).
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// bli_l3_sup_int.c, bli_l3_sup_vars.c: flat products (fewer row than column tiles of 6 x nr) take shorter blocks of K.
Index small_kc(Index m, Index n, Index nr) {
  constexpr Index kc = 256, mr = 6;
  if (m / mr >= n / nr) return kc;
  for (const Index t : {1, 2, 3, 4})
    if (m <= t * mr && n <= t * nr) return kc / t / 4 * 4;
  return kc / 5 / 4 * 4;
}

std::optional<Order> order(const Call& call, const Keys& keys) {
  const bool skx = choice(keys, "arch", {"skx", "haswell", "zen", "zen2"}) == "skx", single = call.dtype == DType::f32;
  const bool small = choice(keys, "path", {"small", "native"}) == "small";
  if (call.m == 1 || call.n == 1 || batched_b(call)) return {};
  const std::string kc = skx ? (single ? "chunks(384, max=480)" : "chunks(256, max=320)") : "chunks(256)";
  const std::string chunks = (call.bias ? "epilogue(c=first) > " : "") + (call.k <= 256 ? std::string() : kc + " > ");
  Areas areas(call.m, call.n);
  areas.rest(chunks + "fma");
  if (skx || !small) return areas.order();
  if (call.trans_a || call.n % 2) return {};  // other kernels
  if (call.trans_b) {
    areas.rest(fmt::format("{}lanes({}, fold=pairs, tail=lane0) > fma", chunks, single ? 8 : 4));
  } else if (const Index kc = small_kc(call.m, call.n, single ? 16 : 8); call.k > kc) {
    areas.rest(fmt::format("{}chunks({}) > fma", call.bias ? "epilogue(c=first) > " : "", kc));
  }
  return areas.order();
}

}  // namespace

Profile blis() {
  return {"blis",
          "BLIS on x86-64, one thread",
          {"BLIS 0.9.0 (Debian) run with BLIS_ARCH_TYPE 0 (skx) and 3 (haswell): 340 products, float32 and float64, every "
           "element",
           "zen, zen2 and path=native: source reading only; odd column counts on haswell: no rule"},
          {{"arch", {"skx", "haswell", "zen", "zen2"}, "configuration (BLIS_ARCH_TYPE takes its number)"},
           {"path", {"small", "native"}, "the path for small and skinny products, or the blocked one"}},
          order};
}

}  // namespace samebits::profiles
