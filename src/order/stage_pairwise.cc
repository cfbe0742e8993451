// SPDX-License-Identifier: Apache-2.0
// pairwise: recursive halving down to pieces of a given size.
#include <fmt/format.h>

#include "order/stage.h"

namespace samebits::order {
namespace {

class Pairwise final : public Stage {
 public:
  std::uint64_t base = 1;

  std::string text() const override { return CallText("pairwise").number(base).str(); }
  std::string describe() const override { return fmt::format("halved down to pieces of at most {}, added in pairs", base); }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {  // at most 31 levels deep
    if (ks.size() <= base) return builder.build(rest, ks);
    const std::size_t half = (ks.size() + 1) / 2;
    const std::uint32_t first = build(builder, ks.first(half), rest);
    const std::uint32_t second = build(builder, ks.subspan(half), rest);
    return builder.add({first, second});
  }
};

std::shared_ptr<const Stage> parse(Scanner& in, const Left&) {
  auto pairwise = std::make_shared<Pairwise>();
  in.expect('(');
  pairwise->base = in.number(1, max_k);
  in.expect(')');
  return pairwise;
}

constexpr StageWord words[] = {
    {"pairwise", Rank::cut, parse, "pairwise(B)",
     "more than B leaves: the first ceil(n/2) and the rest, each the same way, added at the end"},
};

}  // namespace

std::span<const StageWord> stages_pairwise() {
  return words;
}

}  // namespace samebits::order
