// SPDX-License-Identifier: Apache-2.0
// f64: what stands to the right is summed in double; its value is rounded once, here.
#include <utility>

#include "order/stage.h"

namespace samebits::order {
namespace {

class F64 final : public Stage {
 public:
  std::string text() const override { return "f64"; }
  std::string describe() const override { return "in double, rounded once"; }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    const bool outside = std::exchange(builder.wide, true);
    const std::uint32_t node = builder.build(rest, ks);
    builder.wide = outside;
    return node;
  }
};

constexpr StageWord words[] = {
    {"f64", Rank::cut,
     [](Scanner& in, const Left& left) -> std::shared_ptr<const Stage> {
       if (left.wide) in.fail_at(in.position(), "f64 is given twice");
       return std::make_shared<F64>();
     },
     "f64", "what stands to the right is summed in double and rounded once, at this place"},
};

}  // namespace

std::span<const StageWord> stages_f64() {
  return words;
}

}  // namespace samebits::order
