// SPDX-License-Identifier: Apache-2.0
// fma and mul: a chain, the leaves joined one by one to one accumulator.
#include <fmt/format.h>

#include "order/stage.h"

namespace samebits::order {
namespace {

class Chain final : public Leaf {
 public:
  Op kind = Op::fma;
  bool first = false;  // start=first
  std::uint64_t seed = 0;

  std::string text() const override {
    CallText call(kind == Op::fma ? "fma" : "mul");
    if (kind == Op::mul_f32) call.option("round", "f32");
    if (first) call.option("start", "first");
    if (seed) call.option("seed", seed);
    return call.str();
  }
  std::string describe() const override {
    std::string s = kind == Op::fma ? "a chain of fused multiply-adds" : "a chain of rounded products, added one by one";
    if (kind == Op::mul_f32) s = "a chain of products rounded to float, added in double";
    if (seed) s += fmt::format(", leaf {} of each chain first", seed);
    if (first) s += ", from -0";
    return s;
  }
  Op op() const override { return kind; }
  bool start_negative() const override { return first; }

  void join(Builder& builder, Node& node, Ks ks, std::optional<Op> other) const override {
    if (ks.empty()) return;
    Op op = other.value_or(kind);
    if (op == Op::mul_f32 && !node.wide) op = Op::mul;
    node.items.push_back(builder.leaves(ks, op));
  }

  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override {
    if (seed == 0 || seed >= ks.size()) return Leaf::build(builder, ks, rest);
    std::vector<std::uint32_t> moved{ks[seed]};
    for (std::size_t i = 0; i < ks.size(); ++i)
      if (i != seed) moved.push_back(ks[i]);
    return Leaf::build(builder, moved, rest);
  }
};

std::shared_ptr<const Stage> parse(Op op, Scanner& in, const Left& left) {
  auto chain = std::make_shared<Chain>();
  chain->kind = op;
  std::vector<std::string_view> options{"start=", "seed="};
  if (op == Op::mul) options.push_back("round=");
  if (!in.accept('(')) return chain;
  for (Options o(in, options, true); o.next();) {
    if (o.index() == 0) {
      in.choose({"first"});
      chain->first = true;
    } else if (o.index() == 1) {
      if (left.last && left.last->is_tree())
        in.fail_at(o.column(), "seed= has no meaning after tree(...), which lists its leaves");
      chain->seed = in.number(0, max_k);
    } else {
      if (!left.wide) in.fail_at(o.column(), "round=f32 needs f64 to the left: products rounded to float, added in double");
      in.choose({"f32"});
      chain->kind = Op::mul_f32;
    }
  }
  return chain;
}

constexpr StageWord words[] = {
    {"fma", Rank::leaf, [](Scanner& in, const Left& left) { return parse(Op::fma, in, left); }, "fma(start=first, seed=I)",
     "s <- fma(a, b, s) for each leaf in turn, from +0; start=first: from -0; seed=I: leaf I first"},
    {"mul", Rank::leaf, [](Scanner& in, const Left& left) { return parse(Op::mul, in, left); },
     "mul(round=f32, start=first, seed=I)",
     "s <- s + round(a*b) for each leaf in turn; f64 > mul(round=f32): products rounded to float, added in double"},
};

}  // namespace

std::span<const StageWord> stages_leaf() {
  return words;
}

}  // namespace samebits::order
