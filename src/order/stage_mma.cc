// SPDX-License-Identifier: Apache-2.0
// mma: the fused blocks of a tensor core. Each block adds L products and the accumulator at once, truncated.
#include <fmt/format.h>

#include <algorithm>

#include "order/stage.h"

namespace samebits::order {
namespace {

struct Shape {
  std::uint16_t block = 0, fraction = 0;
};

// Products in a fused block and fraction bits kept, by architecture: 10-bit inputs (tf32) and 16-bit inputs.
struct Architecture {
  std::string_view name;
  Shape tf32, half;
};
constexpr Architecture architectures[] = {{"ampere", {4, 24}, {8, 24}}, {"hopper", {8, 25}, {16, 25}}};

class Mma final : public Leaf {
 public:
  Shape shape;
  const Architecture* architecture = nullptr;
  std::uint64_t first = 0;

  std::string text() const override {
    CallText call("mma");
    if (architecture) {
      call.word(architecture->name);
    } else {
      call.number(shape.block).number(shape.fraction);
    }
    if (first) call.option("first", first);
    return call.str();
  }
  std::string describe() const override {
    std::string s = architecture
                        ? fmt::format("the fused blocks of {} tensor cores", architecture->name)
                        : fmt::format("fused blocks of {} products, {} fraction bits kept", shape.block, shape.fraction);
    if (first) s += fmt::format(", the residue modulo {} in its own blocks before", first);
    return s;
  }
  Op op() const override { return Op::mma; }

  void join(Builder& builder, Node& node, Ks ks, std::optional<Op> other) const override {
    if (ks.empty()) return;
    Item item = builder.leaves(ks, other.value_or(Op::mma));
    if (item.op == Op::mma) {
      const Shape s = !architecture                                   ? shape
                      : builder.settings.input.format == Format::tf32 ? architecture->tf32
                                                                      : architecture->half;
      item.block = s.block;
      item.fraction = s.fraction;
      item.emin = builder.settings.input.format == Format::fp16 ? -14 : -126;
      if (first) item.residue = static_cast<std::uint32_t>(ks.size() % first);
    }
    node.items.push_back(item);
  }
};

std::shared_ptr<const Stage> parse(Scanner& in, const Left& left) {
  if (left.wide) in.fail("fma or mul (a tensor core adds to float, not to the double of f64)");
  if (left.last && left.last->is_tree()) in.fail("fma or mul after tree(...)");
  auto mma = std::make_shared<Mma>();
  in.expect('(');
  if (in.at_digit()) {
    mma->shape.block = static_cast<std::uint16_t>(in.number(1, 64));
    in.expect(',');
    mma->shape.fraction = static_cast<std::uint16_t>(in.number(1, 40));
  } else {
    if (left.settings.input.format == Format::none && !in.peek_word().empty())
      in.fail("two numbers (a name needs tf32, bf16 or fp16 to the left)");
    mma->architecture = &architectures[in.choose({"ampere", "hopper"})];
  }
  for (Options o(in, {"first="}); o.next();) mma->first = in.number(1, max_k);
  return mma;
}

constexpr StageWord words[] = {
    {"mma", Rank::leaf, parse, "mma(L,F | ampere | hopper, first=T)",
     "fused blocks of L products and the accumulator, F fraction bits kept, truncated to float; first=T: the first n mod T "
     "leaves "
     "in blocks of their own"},
};

}  // namespace

std::span<const StageWord> stages_mma() {
  return words;
}

}  // namespace samebits::order
