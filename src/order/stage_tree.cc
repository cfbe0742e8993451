// SPDX-License-Identifier: Apache-2.0
// tree: every add written out, for one K.
#include <fmt/format.h>

#include "order/stage.h"
#include "order/tree_text.h"

namespace samebits::order {
namespace {

constexpr Op unknown = Op::exact;  // of bare leaves, until the leaf op has been read

class TreeStage final : public Stage {
 public:
  TreeStage(Tree tree, bool wide, Op op = unknown) : tree_(std::move(tree)), wide_(wide), op_(op) {}

  std::string text() const override { return "tree(" + tree_text(tree_, op_, wide_) + ")"; }
  std::string describe() const override { return fmt::format("an explicit tree of {} leaves", tree_.k); }
  bool is_tree() const override { return true; }

  std::shared_ptr<const Stage> with_op(Op op) const override {
    Tree tree = tree_;
    for (Node& node : tree.nodes)
      for (Item& item : node.items)
        if (item.op == unknown) item.op = op == Op::mul_f32 && !node.wide ? Op::mul : op;
    return std::make_shared<TreeStage>(std::move(tree), wide_, op);
  }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    if (ks.size() != tree_.k)
      throw Error(Code::invalid_argument, fmt::format("the tree has {} leaves, the stage receives {}", tree_.k, ks.size()));
    const Leaf& leaf = leaf_of(rest);
    const auto shift = static_cast<std::uint32_t>(builder.tree.nodes.size());
    std::vector<std::uint32_t> mapped;
    for (const Node& node : tree_.nodes) {
      Node copy = node;
      copy.start_negative |= leaf.start_negative();
      for (Item& item : copy.items) {
        if (item.is_node()) {
          item.node += shift;
          continue;
        }
        mapped.clear();
        for (std::uint32_t i = 0; i < item.count; ++i) mapped.push_back(ks[tree_.ks[item.begin + i]]);
        item = builder.leaves(mapped, item.op);
      }
      builder.add(std::move(copy));
    }
    builder.reordered = true;
    return shift + tree_.root;
  }

 private:
  Tree tree_;  // over positions
  bool wide_;  // to the right of f64
  Op op_;      // of bare leaves
};

constexpr StageWord words[] = {
    {"tree", Rank::cut,
     [](Scanner& in, const Left& left) -> std::shared_ptr<const Stage> {
       return std::make_shared<TreeStage>(parse_tree(in, left.wide, unknown, true), left.wide);
     },
     "tree(0 + 2 + (1 + 3) + [4..20:4] + 5:mul)",
     "an explicit tree over the positions, for one K, followed by fma or mul; f64(...) inside is summed in double"},
};

}  // namespace

std::span<const StageWord> stages_tree() {
  return words;
}

}  // namespace samebits::order
