// SPDX-License-Identifier: Apache-2.0
// Eigen 3.4 (Core/products: GeneralBlockPanelKernel.h), row-major C = A op(B), one thread. Row-major products are computed
// as their transpose: the kernel's rows are our columns.
#include <fmt/format.h>

#include <algorithm>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

constexpr Index k_peeling = 8;
constexpr Index columns = 4;  // nr: the kernel's columns in a panel

// computeProductBlockingSizes: a panel of A and one of B fit into the first-level cache; blocks of about equal length.
Index block_k(Index k, Index packet, Index size, Index cache) {
  const Index rows = 3 * packet;
  if (packet * size == 64) cache *= 4;
  const Index most = (cache - rows * columns * size) / ((rows + columns) * size) / k_peeling * k_peeling;
  return eigen_equal_blocks(k, most);
}

// The kernel's last rows, fewer than half a packet: k in lanes of a packet, then of a quarter, then one by one.
std::string last_rows(Index begin, Index end, Index lanes) {
  const Index quarter = lanes / 4, body = begin + (end - begin) / lanes * lanes,
              fine = body + (end - body) / quarter * quarter;
  std::vector<std::string> sums;
  for (Index g = 0; g < quarter; ++g) {
    std::vector<std::string> parts;
    for (Index l = g; l < lanes; l += quarter) parts.push_back(leaves(begin + l, body, lanes));
    sums.push_back(then(fold(parts, Fold::pairs), leaves(body + g, fine, quarter)));
  }
  return then(fold(sums, Fold::halves), leaves(fine, end));
}

std::optional<Order> order(const Call& call, const Keys& keys) {
  const std::string& isa = choice(keys, "isa", {"avx2", "avx512"});
  const bool contracted = choice(keys, "contract", {"on", "off"}) == "on";
  const Index cache = number(keys, "l1", 1024, 1 << 24), size = size_of(call.dtype),
              packet = (isa == "avx2" ? 32 : 64) / size;
  if (call.m == 1 || call.n == 1 || call.bias || batched_b(call)) return {};
  Areas areas(call.m, call.n);
  if (call.m + call.n + call.k < 20) {  // EIGEN_GEMM_TO_COEFFBASED_THRESHOLD
    if (call.trans_a || (call.trans_b && (call.dtype == DType::f64 || call.k >= k_peeling))) return {};
    if (!contracted && !call.trans_b) return {};  // vectors with FMA, the ends of rows without: by alignment
    areas.rest(contracted ? "fma" : "mul(start=first)");
    return areas.order();
  }
  const Index kc = block_k(call.k, packet, size, cache);
  const std::string chunks = kc < call.k ? fmt::format("chunks({}) > ", kc) : "";
  areas.rest(chunks + "fma");
  // Three and two packets of rows at a time run one chain; one packet and a half even and odd k apart; all in panels of four
  // columns.
  const Index rows = call.m / columns * columns, wide = call.n / (3 * packet) * 3 * packet;
  const Index two = wide + (call.n - wide) / (2 * packet) * 2 * packet, one = two + (call.n - two) / packet * packet;
  const Index half = std::max(packet / 2, 16 / size), halves = one + (call.n - one) / half * half;
  const Index quarter = std::max(packet / 4, 16 / size), quarters = halves + (call.n - halves) / quarter * quarter;
  areas.add({0, rows, 1}, {two, quarters, 1}, fmt::format("{}lanes(2, step=8, fold=left, tail=chain) > fma", chunks));
  if (quarters < call.n) {
    std::string text;
    for (Index begin = 0; begin < call.k; begin += kc)
      text = plus(std::move(text), last_rows(begin, std::min(call.k, begin + kc), packet));
    areas.add({0, rows, 1}, {quarters, call.n, 1}, tree(text, "fma"));
  }
  return areas.order();
}

}  // namespace

Index eigen_equal_blocks(Index k, Index most) {
  if (k <= most) return k;
  return k % most == 0 ? most : most - k_peeling * ((most - 1 - k % most) / (k_peeling * (k / most + 1)));
}

Profile eigen() {
  return {"eigen",
          "Eigen 3.4 matrix products, row-major, one thread",
          {"Eigen 3.4.0 compiled for AVX2 and AVX-512 and run (l1=32768): 412 products, float32 and float64, every element; "
           "with "
           "contract=off and A transposed: probed in the tests",
           "other cache sizes: the formula of the source, not run; one row or column: no rule"},
          {{"isa", {"avx2", "avx512"}, "instruction set that the program was compiled for"},
           {"contract", {"on", "off"}, "compiled with a*b + c as one fma (GCC's default) or not (-ffp-contract=off)"},
           {"l1", {"32768", "49152", "65536"}, "bytes of first-level data cache, which Eigen asks the CPU for"}},
          order};
}

}  // namespace samebits::profiles
