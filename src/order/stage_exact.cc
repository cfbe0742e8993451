// SPDX-License-Identifier: Apache-2.0
// exact: the correctly rounded sum of the products.
#include "order/stage.h"

namespace samebits::order {
namespace {

class Exact final : public Leaf {
 public:
  std::string text() const override { return "exact"; }
  std::string describe() const override { return "the correctly rounded sum"; }
  Op op() const override { return Op::exact; }

  void join(Builder& builder, Node& node, Ks ks, std::optional<Op> other) const override {
    if (ks.empty()) return;
    const Item item = builder.leaves(ks, other.value_or(Op::exact));
    if (item.op == Op::exact && !node.items.empty()) {  // stands alone in its node
      Node own = builder.node();
      own.items.push_back(item);
      node.items.push_back(node_item(builder.add(std::move(own))));
    } else {
      node.items.push_back(item);
    }
  }
};

constexpr StageWord words[] = {
    {"exact", Rank::leaf,
     [](Scanner& in, const Left& left) -> std::shared_ptr<const Stage> {
       if (left.wide) in.fail_at(in.position(), "exact is rounded once already: f64 has no meaning to its left");
       if (left.last && left.last->is_tree()) in.fail("fma or mul after tree(...)");
       return std::make_shared<Exact>();
     },
     "exact", "the correctly rounded sum of the products, independent of any order"},
};

}  // namespace

std::span<const StageWord> stages_exact() {
  return words;
}

}  // namespace samebits::order
