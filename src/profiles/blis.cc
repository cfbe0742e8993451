// SPDX-License-Identifier: Apache-2.0
// BLIS (config/*/bli_cntx_init_*.c: KC and its maximum; kernels/haswell/3/sup: the small and skinny path).
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

// bli_l3_sup_int.c, bli_l3_sup_vars.c: flat products (fewer row than column tiles of 6 x nr) take shorter blocks of K.
Index small_kc(Index kc, Index m, Index n, Index nr) {
  constexpr Index mr = 6;
  if (m / mr >= n / nr) return kc;
  for (const Index t : {1, 2, 3, 4})
    if (m <= t * mr && n <= t * nr) return kc / t / 4 * 4;
  return kc / 5 / 4 * 4;
}

std::optional<Order> order(const Call& call, const Keys& keys) {
  const std::string& arch = choice(keys, "arch", {"skx", "haswell", "zen", "zen2", "zen3"});
  const bool skx = arch == "skx", single = call.dtype == DType::f32;
  const Index q = arch == "zen3" && single ? 512 : 256;
  const bool small = choice(keys, "path", {"small", "native"}) == "small";
  if (call.m == 1 || call.n == 1 || batched_b(call)) return {};
  const std::string kc = skx ? (single ? "chunks(384, max=480)" : "chunks(256, max=320)") : fmt::format("chunks({})", q);
  const std::string chunks = (call.bias ? "epilogue(c=first) > " : "") + (call.k <= q ? std::string() : kc + " > ");
  Areas areas(call.m, call.n);
  areas.rest(chunks + "fma");
  if (skx || !small) return areas.order();
  if (call.trans_a || (call.n % 2 && (call.trans_b || !single))) return {};  // other kernels
  if (call.trans_b) {
    areas.rest(fmt::format("{}lanes({}, fold=pairs, tail=lane0) > fma", chunks, single ? 8 : 4));
  } else if (const Index kc = small_kc(q, call.m, call.n, single ? 16 : 8); call.k > kc) {
    areas.rest(fmt::format("{}chunks({}) > fma", call.bias ? "epilogue(c=first) > " : "", kc));
    if (call.n % 2)
      areas.add(areas.all_rows(), {call.n - 1, call.n, 1},
                fmt::format("{}chunks({}) > mul", call.bias ? "epilogue(c=first) > " : "", kc));
  } else if (call.n % 2) {
    areas.add(areas.all_rows(), {call.n - 1, call.n, 1}, chunks + "mul");
  }
  return areas.order();
}

}  // namespace

Profile blis() {
  return {"blis",
          "BLIS on x86-64, one thread",
          {"BLIS 0.9.0 (Debian) run with BLIS_ARCH_TYPE 0 (skx) and 3 (haswell): 340 products, float32 and float64, every "
           "element; zen3 as haswell with longer blocks of float32: probed in the tests",
           "zen, zen2 and path=native: source reading only; one row or column, odd column counts with B transposed or "
           "float64, A "
           "transposed: no rule"},
          {{"arch", {"skx", "haswell", "zen3", "zen", "zen2"}, "configuration (BLIS_ARCH_TYPE takes its number)"},
           {"path", {"small", "native"}, "the path for small and skinny products, or the blocked one"}},
          order};
}

}  // namespace samebits::profiles
