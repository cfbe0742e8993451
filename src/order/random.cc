// SPDX-License-Identifier: Apache-2.0
#include "order/random.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "order/stage.h"

namespace samebits::order {
namespace {

class Dice {
 public:
  explicit Dice(std::mt19937_64& rng) : rng_(rng) {}
  // Uniform in [low, high].
  std::uint64_t number(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(rng_);
  }
  bool one_in(std::uint64_t n) { return number(1, n) == 1; }
  std::string_view pick(std::initializer_list<std::string_view> words) { return words.begin()[number(0, words.size() - 1)]; }
  std::mt19937_64& engine() { return rng_; }

 private:
  std::mt19937_64& rng_;
};

std::string random_fold(Dice& dice, std::size_t parts) {
  if (parts > 1 && dice.one_in(5)) {
    const Tree tree = random_tree(dice.engine(), static_cast<std::uint32_t>(parts), Op::mul);
    return "tree(" + tree.text() + ")";
  }
  return std::string(dice.pick({"left", "halves", "pairs", "hadd"}));
}

std::string random_cut(Dice& dice, std::uint32_t k) {
  const std::uint64_t size = dice.one_in(2) ? dice.number(1, std::max<std::uint32_t>(k, 1)) : dice.number(1, 16);
  switch (dice.number(0, 7)) {
    case 0:
      return "reverse";
    case 1:
      return fmt::format("pairwise({})", size);
    case 2:
      return fmt::format("split({}{}{})", dice.number(1, 8), dice.one_in(2) ? ", floor" : "",
                         dice.one_in(3) ? ", fold=" + random_fold(dice, 0) : "");
    case 3:
    case 4:
      switch (dice.number(0, 5)) {
        case 0:
          return fmt::format("chunks({}, balance={})", size, dice.number(1, 16));
        case 1:
          return fmt::format("chunks({}, balance=half)", size);
        case 2:
          return fmt::format("chunks({}, max={})", size, size + dice.number(0, size));
        case 3:
          return fmt::format("chunks({}, short={})", size, dice.pick({"first", "second"}));
        case 4:
          return fmt::format("chunks({}, join=alternate)", size);
        default:
          return fmt::format("chunks({}, fold={})", size, random_fold(dice, 0));
      }
    default: {
      const std::uint64_t lanes = dice.number(1, 16), width = dice.one_in(4) ? dice.number(1, 4) : 1;
      std::string s = fmt::format("lanes({}, width={}", lanes, width);
      if (dice.one_in(3)) s += fmt::format(", step={}", lanes * width * dice.number(1, 4));
      if (dice.one_in(4)) s += fmt::format(", head={}@{}", dice.number(1, 5), dice.number(0, lanes - 1));
      s += fmt::format(", fold={}, tail={}", random_fold(dice, lanes),
                       dice.pick({"lanes", "chain", "sum", "lane0", "first"}));
      if (dice.one_in(4)) s += fmt::format(", tailop={}", dice.pick({"fma", "mul"}));
      return s + ")";
    }
  }
}

}  // namespace

Tree random_tree(std::mt19937_64& rng, std::uint32_t k, Op op, bool shuffle) {
  Dice dice(rng);
  Tree tree;
  tree.k = k;
  tree.ks.resize(k);
  std::iota(tree.ks.begin(), tree.ks.end(), 0u);
  if (shuffle) std::shuffle(tree.ks.begin(), tree.ks.end(), rng);
  // Joins neighbours, so that each subtree covers consecutive places of ks; a join is an add, or a leaf onto an accumulator.
  struct Part {
    Node node;
    std::uint32_t begin, end;
  };
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < k; ++i) parts.push_back({Node{{Item{.begin = i, .count = 1, .op = op}}}, i, i + 1});
  auto finish = [&](Node& node) {
    tree.nodes.push_back(std::move(node));
    return Item{.node = static_cast<std::uint32_t>(tree.nodes.size() - 1)};
  };
  while (parts.size() > 1) {
    // At the front, at the back or anywhere: combs and bushy trees.
    const std::uint64_t where = dice.number(0, 3);
    const std::size_t at = where == 0 ? 0 : where == 1 ? parts.size() - 2 : dice.number(0, parts.size() - 2);
    Part& left = parts[at];
    Part& right = parts[at + 1];
    if (right.end - right.begin == 1 && !dice.one_in(3)) {
      left.node.items.push_back(right.node.items[0]);
    } else {
      Node sum;
      if (dice.one_in(2)) {
        sum = std::move(left.node);
      } else {
        sum.items.push_back(finish(left.node));
      }
      sum.items.push_back(finish(right.node));
      left.node = std::move(sum);
    }
    left.end = right.end;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  if (k == 0) parts.push_back({});
  tree.root = finish(parts[0].node).node;
  return tree;
}

Tree commuted(std::mt19937_64& rng, const Tree& given) {
  Dice dice(rng);
  Builder builder;
  builder.tree = given;
  Tree& tree = builder.tree;
  for (std::size_t n = 0; n < given.nodes.size(); ++n) {
    auto& items = tree.nodes[n].items;
    for (std::size_t i = 1; i < items.size(); ++i) {
      if (!items[i].is_node() || !dice.one_in(2)) continue;
      // (items 0..i-1) + T becomes T + (items 0..i-1).
      Node before = tree.nodes[n];
      before.round = Format::none;
      before.items.resize(i);
      const auto inner = static_cast<std::uint32_t>(tree.nodes.size());
      auto& now = tree.nodes[n].items;
      now.erase(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(i));
      now.insert(now.begin() + 1, Item{.node = inner});
      tree.nodes.push_back(std::move(before));
      break;
    }
  }
  // Children before parents again.
  std::vector<std::uint32_t> order, stack{tree.root};
  while (!stack.empty()) {
    order.push_back(stack.back());
    stack.pop_back();
    for (const Item& item : tree.nodes[order.back()].items)
      if (item.is_node()) stack.push_back(item.node);
  }
  std::reverse(order.begin(), order.end());
  std::vector<std::uint32_t> place(tree.nodes.size());
  std::vector<Node> nodes;
  for (auto n : order) {
    place[n] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back(std::move(tree.nodes[n]));
    for (Item& item : nodes.back().items)
      if (item.is_node()) item.node = place[item.node];
  }
  tree.nodes = std::move(nodes);
  builder.reordered = true;
  return builder.finish(static_cast<std::uint32_t>(tree.nodes.size() - 1), given.k);
}

Order random_order(std::mt19937_64& rng, std::uint32_t k, const RandomOrder& options) {
  Dice dice(rng);
  for (;;) {
    std::string s;
    auto stage = [&](std::string_view text) { s += std::string(s.empty() ? "" : " > ") + std::string(text); };
    const bool half_out = options.out && dice.one_in(3);
    if (half_out) stage(dice.pick({"out(fp16)", "out(bf16)"}));
    if (options.epilogue && dice.one_in(2))
      stage(fmt::format("epilogue(alpha={}, c={}{})", dice.pick({"end", "block", "a"}), dice.pick({"last", "first", "seed"}),
                        dice.one_in(3) ? ", fused" : ""));
    const bool input = options.input && dice.one_in(2);
    if (input) stage(dice.pick({"tf32(rna)", "tf32(rne)", "tf32(rz)", "tf32(rz, raw)", "bf16(rne)", "fp16(rne)"}));
    bool wide = false;
    if (half_out && dice.one_in(3)) stage(fmt::format("split({}, partial=out)", dice.number(2, 4)));
    bool tree = false;
    for (auto n = dice.number(0, 2); n > 0; --n) {
      if (!options.program && !wide && dice.one_in(5)) {
        stage("f64");
        wide = true;
      }
      stage(random_cut(dice, k));
      if (!options.program && !wide && dice.one_in(8))
        stage(fmt::format("lanes({}, fold=pairs, tail=sum, tailop=f64mul)", dice.number(1, 8)));
    }
    if (options.explicit_tree && k > 0 && dice.one_in(3)) {
      stage("tree(" + random_tree(rng, k, Op::fma).text() + ")");
      tree = true;
    }
    if (options.mma_and_exact && !wide && !tree && dice.one_in(3)) {
      stage(dice.one_in(3)            ? "exact"
            : input && dice.one_in(2) ? "mma(hopper)"
            : dice.one_in(2)          ? "mma(4,24)"
                                      : "mma(8,25, first=16)");
    } else {
      std::vector<std::string> arguments;
      const bool mul = dice.one_in(2);
      if (mul && wide && dice.one_in(2)) arguments.push_back("round=f32");
      if (dice.one_in(6)) arguments.push_back("start=first");
      if (!tree && dice.one_in(6)) arguments.push_back(fmt::format("seed={}", dice.number(1, 3)));
      stage(fmt::format("{}{}{}{}", mul ? "mul" : "fma", arguments.empty() ? "" : "(", fmt::join(arguments, ", "),
                        arguments.empty() ? "" : ")"));
    }
    Order order = Order::parse(s);
    try {  // an explicit tree under another stage, a fold over another number of parts
      order.tree(k);
    } catch (const Error& e) {
      if (e.code() != Code::invalid_argument) throw;
      continue;
    }
    return order;
  }
}

Order random_regions(std::mt19937_64& rng, Index rows, Index cols, std::uint32_t k, const RandomOrder& options) {
  Dice dice(rng);
  auto range = [&](Index size) {
    if (dice.one_in(3)) return Range::all();
    const auto begin = static_cast<Index>(dice.number(0, static_cast<std::uint64_t>(size - 1)));
    const auto end =
        static_cast<Index>(dice.number(static_cast<std::uint64_t>(begin + 1), static_cast<std::uint64_t>(size)));
    return Range{begin, end, dice.one_in(3) ? static_cast<Index>(dice.number(1, 4)) : 1};
  };
  std::vector<Region> regions;
  for (auto n = dice.number(1, 3); n > 0; --n) regions.push_back({range(rows), range(cols), random_order(rng, k, options)});
  return Order::with_regions(std::move(regions), random_order(rng, k, options));
}

}  // namespace samebits::order
