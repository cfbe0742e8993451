// SPDX-License-Identifier: Apache-2.0
// reverse: the list of leaves, last first.
#include "order/stage.h"

namespace samebits::order {
namespace {

class Reverse final : public Stage {
 public:
  std::string text() const override { return "reverse"; }
  std::string describe() const override { return "last leaf first"; }
  bool has_pieces(Stages rest) const override { return rest.front()->has_pieces(rest.subspan(1)); }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    const std::vector<std::uint32_t> reversed(ks.rbegin(), ks.rend());
    return builder.build(rest, reversed);
  }
};

constexpr StageWord words[] = {
    {"reverse", Rank::cut, [](Scanner&, const Left&) -> std::shared_ptr<const Stage> { return std::make_shared<Reverse>(); },
     "reverse", "takes the leaves in descending order"},
};

}  // namespace

std::span<const StageWord> stages_reverse() {
  return words;
}

}  // namespace samebits::order
