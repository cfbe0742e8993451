// SPDX-License-Identifier: Apache-2.0
// split: a given number of consecutive pieces (split-K).
#include <fmt/format.h>

#include "order/fold.h"

namespace samebits::order {
namespace {

class Split final : public Stage {
 public:
  std::uint64_t parts = 1;
  bool floor = false, partial_out = false;
  Fold fold;

  std::string text() const override {
    CallText call("split");
    call.number(parts);
    if (floor) call.word("floor");
    if (!fold.is_left()) call.option("fold", fold.text());
    if (partial_out) call.option("partial", "out");
    return call.str();
  }

  std::string describe() const override {
    return fmt::format("split in {}{}, {}{}", parts, floor ? " and a rest" : "", fold.describe(),
                       partial_out ? ", partial sums rounded to the output format" : "");
  }

  bool has_pieces(Stages) const override { return fold.is_left(); }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    const std::size_t n = ks.size();
    const std::size_t q = floor ? n / parts : (n + parts - 1) / parts;
    std::vector<std::size_t> sizes(q ? std::min<std::size_t>(n / q, parts) : 0, q);
    if (const std::size_t left = n - q * sizes.size()) sizes.push_back(left);
    auto pieces = builder.build_pieces(rest, ks, sizes);
    if (partial_out) {
      for (auto& piece : pieces) {
        Node rounded = builder.node();
        rounded.items.push_back(node_item(piece));
        rounded.round = builder.settings.out;
        piece = builder.add(std::move(rounded));
      }
    }
    return fold.build(builder, std::move(pieces), sizes.size());
  }
};

std::shared_ptr<const Stage> parse(Scanner& in, const Left& left) {
  auto split = std::make_shared<Split>();
  in.expect('(');
  split->parts = in.number(1, max_k);
  for (Options o(in, {"floor", "fold=", "partial="}); o.next();) {
    if (o.index() == 0) split->floor = true;
    if (o.index() == 1) split->fold.parse(in, 0);
    if (o.index() == 2) {
      if (left.settings.out == Format::none) in.fail_at(o.column(), "partial=out needs out(fp16) or out(bf16) to the left");
      if (left.wide) in.fail_at(o.column(), "partial=out has no meaning to the right of f64");
      in.choose({"out"});
      split->partial_out = true;
    }
  }
  return split;
}

constexpr StageWord words[] = {
    {"split", Rank::cut, parse, "split(S, floor, fold=left|halves|pairs|hadd|tree(...), partial=out)",
     "S consecutive pieces of ceil(n/S) leaves; floor: of floor(n/S), then the rest; partial=out: partial sums rounded to "
     "the "
     "format of out(...)"},
};

}  // namespace

std::span<const StageWord> stages_split() {
  return words;
}

}  // namespace samebits::order
