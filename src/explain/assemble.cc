// SPDX-License-Identifier: Apache-2.0
#include "explain/assemble.h"

#include <fmt/format.h>

#include <algorithm>

namespace samebits::explain {
namespace {

// An accumulator as it grows: leaves and finished sums, in the order they are joined.
struct Part {
  bool is_sum = false;
  std::uint32_t index = 0;  // leaf, or accumulator
  Op op = Op::fma;
  std::uint32_t block = 0;  // mma: leaves of one block have the same number, counted in its accumulator
};
struct Accumulator {
  std::vector<Part> parts;
  bool wide = false;
  std::uint32_t blocks = 0;
};

// Children first.
std::vector<std::uint32_t> post_order(const Structure& s) {
  std::vector<std::uint32_t> out, stack{s.root};
  while (!stack.empty()) {
    out.push_back(stack.back());
    stack.pop_back();
    const auto& children = s.nodes[out.back()].children;
    stack.insert(stack.end(), children.begin(), children.end());
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::uint32_t> smallest_leaves(const Structure& s) {
  std::vector<std::uint32_t> least(s.nodes.size(), 0xffffffffu);
  for (const auto i : post_order(s)) {
    if (s.nodes[i].is_leaf()) least[i] = s.nodes[i].leaf;
    for (const auto c : s.nodes[i].children) least[i] = std::min(least[i], least[c]);
  }
  return least;
}

std::vector<NodePair> pairs(const Structure& s, bool (*wanted)(const Structure&, const Structure::Node&)) {
  const auto least = smallest_leaves(s);
  std::vector<NodePair> out;
  for (const auto i : post_order(s)) {
    const auto& n = s.nodes[i];
    if (!n.is_leaf() && wanted(s, n)) out.push_back({i, make_pair_of(least[n.children[0]], least[n.children[1]])});
  }
  return out;
}

// `carried`: the node's value reaches the sum that it is added to with more than float's bits.
struct Widths {
  std::vector<char> carried, wide;
};
Widths widths(const Structure& s, const Answers& answers) {
  const auto least = smallest_leaves(s);
  Widths w{std::vector<char>(s.nodes.size(), 0), std::vector<char>(s.nodes.size(), 0)};
  for (const auto i : post_order(s)) {
    const auto& n = s.nodes[i];
    if (n.is_leaf()) continue;
    const auto it = answers.carries.find(make_pair_of(least[n.children[0]], least[n.children[1]]));
    w.carried[i] = it != answers.carries.end() && it->second;
    w.wide[i] = w.carried[i];
    for (const auto c : n.children) w.wide[i] |= w.carried[c];
  }
  return w;
}

class Emitter {
 public:
  Emitter(const std::vector<Accumulator>& accumulators, unsigned block, unsigned fraction, bool negative)
      : accumulators_(accumulators), block_(block), fraction_(fraction), negative_(negative) {}

  // Leaves in textual order, nodes after their children.
  std::uint32_t emit(std::uint32_t index, Tree* tree) const {
    const auto& accumulator = accumulators_[index];
    Node node;
    node.wide = accumulator.wide;
    node.start_negative = negative_;
    for (const auto& part : accumulator.parts) {
      if (part.is_sum) {
        Item item;
        item.node = emit(part.index, tree);
        node.items.push_back(item);
        continue;
      }
      const auto position = static_cast<std::uint32_t>(tree->ks.size());
      tree->ks.push_back(part.index);
      if (!node.items.empty()) {
        auto& last = node.items.back();
        if (!last.is_node() && last.op == part.op && last.begin + last.count == position) {
          ++last.count;
          continue;
        }
      }
      Item item;
      item.begin = position;
      item.count = 1;
      item.op = part.op;
      if (part.op == Op::mma) {
        item.block = static_cast<std::uint16_t>(block_);
        item.fraction = static_cast<std::uint16_t>(fraction_);
        item.residue = residue(accumulator);
      }
      node.items.push_back(item);
    }
    tree->nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(tree->nodes.size() - 1);
  }

  // Length of a first block that is short though others follow.
  std::uint32_t residue(const Accumulator& accumulator) const {
    std::uint32_t first = 0, all = 0;
    for (const auto& part : accumulator.parts) {
      if (part.is_sum) continue;
      ++all;
      if (part.block == 0) ++first;
    }
    return all > first && first < block_ ? first : 0;
  }

  // Blocks can be written when all but the first and the last are full, and only one of these two is short.
  bool regular(const Accumulator& accumulator) const {
    std::vector<std::uint32_t> sizes(accumulator.blocks, 0);
    for (const auto& part : accumulator.parts)
      if (!part.is_sum && part.op == Op::mma) ++sizes[part.block];
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool edge = i == 0 || i + 1 == sizes.size();
      if (sizes[i] != block_ && !edge) return false;
    }
    return sizes.size() < 2 || sizes.front() == block_ || sizes.back() == block_;
  }

 private:
  const std::vector<Accumulator>& accumulators_;
  unsigned block_, fraction_;
  bool negative_;
};

}  // namespace

std::vector<NodePair> join_pairs(const Structure& s) {
  return pairs(s, [](const Structure& all, const Structure::Node& n) {
    return n.children.size() == 2 && (all.nodes[n.children[0]].is_leaf() || all.nodes[n.children[1]].is_leaf());
  });
}

std::vector<NodePair> width_pairs(const Structure& s) {
  return pairs(s, [](const Structure&, const Structure::Node& n) { return n.size > 2; });
}

std::vector<Asked> carry_questions(const Structure& s) {
  const auto least = smallest_leaves(s);
  std::vector<Asked> out;
  for (const auto& parent : s.nodes)
    for (std::size_t i = 0; i < parent.children.size(); ++i) {
      const auto& n = s.nodes[parent.children[i]];
      if (!n.is_leaf())
        out.push_back({make_pair_of(least[n.children[0]], least[n.children[1]]), least[parent.children[i == 0 ? 1 : 0]]});
    }
  return out;
}

std::vector<NodePair> product_pairs(const Structure& s, const Answers& answers) {
  const auto wide = widths(s, answers).wide;
  auto list = join_pairs(s);
  std::erase_if(list, [&](const NodePair& p) { return wide[p.node] == 0; });
  return list;
}

Assembly assemble(const Structure& s, const Answers& answers, const Arithmetic& arithmetic) {
  Assembly out;
  const auto least = smallest_leaves(s);
  const auto order = post_order(s);

  const auto width = widths(s, answers);
  std::vector<char> rounded_product(s.nodes[s.root].size, 0);
  for (const auto& [node, pair] : product_pairs(s, answers)) {
    const auto it = answers.products.find(pair);
    if (it == answers.products.end()) continue;
    for (const auto c : s.nodes[node].children)
      if (s.nodes[c].is_leaf())
        rounded_product[s.nodes[c].leaf] = (it->second & (s.nodes[c].leaf == first_of(pair) ? 1 : 2)) != 0;
  }

  unsigned block = 0;
  for (const auto& n : s.nodes) {
    if (n.children.size() <= 2) continue;
    unsigned leaves = 0, sums = 0;
    for (const auto c : n.children) s.nodes[c].is_leaf() ? ++leaves : ++sums;
    if (sums > 1) {
      out.why_not =
          fmt::format("{} sums and {} products are added at once, which no order of the language does", sums, leaves);
      return out;
    }
    block = std::max(block, leaves);
  }

  bool any_fused = arithmetic.products_exact || arithmetic.fused_seeds;
  for (const auto& [pair, join] : answers.joins) any_fused |= join != 0;

  std::vector<Accumulator> accumulators;
  std::vector<std::uint32_t> of(s.nodes.size(), 0);  // accumulator of a finished node
  const auto make = [&](bool is_wide) {
    accumulators.push_back({{}, is_wide, 0});
    return static_cast<std::uint32_t>(accumulators.size() - 1);
  };
  const auto leaf_part = [&](std::uint32_t node, bool is_wide) {
    const auto k = s.nodes[node].leaf;
    Part part{false, k, any_fused ? Op::fma : Op::mul, 0};
    if (is_wide) part.op = rounded_product[k] ? Op::mul_f32 : Op::fma;
    return part;
  };
  // The accumulator of a sum, rounded to float where it does not stay wide.
  const auto rounded = [&](std::uint32_t node) {
    if (!accumulators[of[node]].wide || width.carried[node] != 0) return of[node];
    const auto fresh = make(false);
    accumulators[fresh].parts.push_back({true, of[node], Op::fma, 0});
    return fresh;
  };
  // The accumulator of `node`, ready to be continued at this width.
  const auto continued = [&](std::uint32_t node, bool is_wide) {
    Part first;
    if (s.nodes[node].is_leaf()) {
      first = leaf_part(node, is_wide);
    } else {
      const auto sum = rounded(node);
      if (accumulators[sum].wide == is_wide) return sum;
      first = {true, sum, Op::fma, 0};
    }
    const auto fresh = make(is_wide);
    accumulators[fresh].parts.push_back(first);
    return fresh;
  };
  const auto finished = [&](std::uint32_t node) {
    if (!s.nodes[node].is_leaf()) return rounded(node);
    const auto fresh = make(false);
    accumulators[fresh].parts.push_back(leaf_part(node, false));
    return fresh;
  };

  for (const auto i : order) {
    const auto& n = s.nodes[i];
    if (n.is_leaf()) continue;
    std::uint32_t x = n.children[0], y = n.children[1];
    if (least[x] > least[y]) std::swap(x, y);
    const bool x_leaf = s.nodes[x].is_leaf(), y_leaf = s.nodes[y].is_leaf();
    if (block > 0 && (n.children.size() > 2 || x_leaf || y_leaf)) {  // a fused block, perhaps of one product
      std::uint32_t sum = Item::no_node;
      std::vector<std::uint32_t> leaves;
      for (const auto c : n.children) s.nodes[c].is_leaf() ? leaves.push_back(s.nodes[c].leaf) : void(sum = c);
      const auto a = sum == Item::no_node ? make(false) : of[sum];
      std::sort(leaves.begin(), leaves.end());
      for (const auto k : leaves) accumulators[a].parts.push_back({false, k, Op::mma, accumulators[a].blocks});
      ++accumulators[a].blocks;
      of[i] = a;
      continue;
    }
    const bool w = width.wide[i] != 0;
    if (!x_leaf && !y_leaf) {
      of[i] = continued(x, w);
      const auto other = finished(y);  // may move the accumulators
      accumulators[of[i]].parts.push_back({true, other, Op::fma, 0});
      continue;
    }
    const auto pair = make_pair_of(least[x], least[y]);
    const auto answer = answers.joins.find(pair);
    int join = answer == answers.joins.end() ? 0 : answer->second;
    if (arithmetic.products_exact || w)
      join = x_leaf && !y_leaf ? -1 : 1;  // which of the two is joined does not matter then
    // y is least[y]'s side, the larger: +1 joins it, -1 joins x's leaf onto y.
    if (join > 0 && y_leaf) {
      of[i] = continued(x, w);
      accumulators[of[i]].parts.push_back(leaf_part(y, w));
    } else if (join < 0 && x_leaf) {
      of[i] = continued(y, w);
      accumulators[of[i]].parts.push_back(leaf_part(x, w));
    } else if (join == 0 && !any_fused) {  // mul: a bare leaf and a finished product are the same
      if (!y_leaf) std::swap(x, y);
      of[i] = continued(x, w);
      accumulators[of[i]].parts.push_back(leaf_part(y, w));
    } else {
      of[i] = continued(x, w);
      const auto other = finished(y);
      accumulators[of[i]].parts.push_back({true, other, Op::fma, 0});
    }
  }

  Tree tree;
  tree.k = s.nodes[s.root].size;
  const auto root = s.nodes[s.root].is_leaf() ? finished(s.root) : of[s.root];
  // Where no sum has two blocks, the blocks may be short ones that are filled up: take the hardware's next size.
  if (block > 0 && std::all_of(accumulators.begin(), accumulators.end(), [](const Accumulator& a) { return a.blocks <= 1; }))
    for (unsigned size : {32u, 16u, 8u, 4u})
      if (block <= size && size < 2 * std::max(block, 4u)) block = size;
  out.block = block;
  const Emitter emitter(accumulators, block, arithmetic.fraction, arithmetic.negative_start);
  if (block > 0) {
    for (const auto& a : accumulators)
      if (!emitter.regular(a)) {
        out.why_not = "products are added in fused blocks of unequal sizes";
        return out;
      }
  }
  tree.root = emitter.emit(root, &tree);
  out.tree = std::move(tree);
  return out;
}

}  // namespace samebits::explain
