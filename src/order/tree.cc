// SPDX-License-Identifier: Apache-2.0
#include "samebits/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "order/expression.h"
#include "order/tree_text.h"

namespace samebits {
namespace {

using Hash = Tree::Hash;

std::uint64_t scramble(std::uint64_t x) {  // finaliser of MurmurHash3
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return x ^ (x >> 33);
}

Hash mix(Hash h, std::uint64_t x) {
  return {scramble(h.lo ^ (x * 0x9e3779b97f4a7c15ull)) + h.hi, scramble(h.hi + x) ^ (h.lo * 0xd6e8feb86659fd93ull)};
}

Hash mix(Hash h, Hash x) {
  return mix(mix(h, x.lo), x.hi);
}

enum Tag : std::uint64_t { tag_start = 1, tag_leaf, tag_add, tag_block, tag_exact, tag_round, tag_to_float };

// A value: the hash of its term in the canonical form of expression.h, computed without building or sorting the term.
struct Value {
  Hash hash;
  bool wide = false;
  bool may_be_negative = false;
  bool single = false;  // one leaf joined to -0, or to +0 by fma
  bool is_start = false;
  std::uint32_t k = 0;  // single: this leaf
  Op op = Op::fma;
};

Value start(bool negative, bool wide) {
  return {mix({tag_start, negative}, wide), wide, negative, false, true};
}

Value add(Value x, Value y, bool wide);

Value leaf(const Value& s, std::uint32_t k, Op op, bool wide) {
  if (s.is_start && s.may_be_negative && op == Op::fma) op = Op::mul;
  const bool product = order::is_product(op);
  if (product && !s.is_start) return add(s, leaf(start(true, wide), k, op, wide), wide);
  const std::uint64_t what =
      tag_leaf | static_cast<std::uint64_t>(op) << 8 | std::uint64_t{wide} << 16 | std::uint64_t{k} << 32;
  const bool negative = op == Op::fma || s.may_be_negative;
  return {mix(s.hash, what), wide, negative, s.is_start && negative, false, k, op};
}

Value own_product(const Value& x) {
  return leaf(start(false, x.wide), x.k, x.op == Op::fma ? Op::mul : x.op, x.wide);
}

Value add(Value x, Value y, bool wide) {
  if (y.single && !x.may_be_negative) y = own_product(y);
  if (x.single && !y.may_be_negative) x = own_product(x);
  if (y.hash < x.hash) std::swap(x.hash, y.hash);
  return {mix(mix(x.hash, y.hash), tag_add | std::uint64_t{wide} << 8), wide, x.may_be_negative && y.may_be_negative};
}

Value rounded(const Value& x, Format format) {
  const std::uint64_t what =
      format == Format::none ? std::uint64_t{tag_to_float} : tag_round | static_cast<std::uint64_t>(format) << 8;
  return {mix(x.hash, what), false, true};
}

// Leaves that are taken all at once, in no order.
Hash set_hash(const std::uint32_t* ks, std::uint32_t count) {
  Hash sum;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Hash one = mix({tag_exact, 0}, ks[i]);
    sum.lo += one.lo;
    sum.hi += one.hi;
  }
  return sum;
}

}  // namespace

Tree::Hash Tree::hash() const {
  std::vector<Value> values(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    Value sum = start(node.start_negative, node.wide);
    bool empty = true;
    for (const Item& item : node.items) {
      const std::uint32_t* leaves = ks.data() + item.begin;
      if (item.is_node() || item.op == Op::exact) {
        Value part = item.is_node() ? values[item.node] : Value{mix(set_hash(leaves, item.count), tag_exact), false, true};
        if (part.wide && !node.wide) part = rounded(part, Format::none);
        sum = empty ? part : add(sum, part, node.wide);
      } else if (item.op == Op::mma) {
        for (std::uint32_t i = 0; i < item.count;) {
          const std::uint32_t end = i < item.residue ? item.residue : item.count;
          const std::uint32_t count = std::min<std::uint32_t>(std::max<std::uint32_t>(item.block, 1), end - i);
          sum = {mix(mix(sum.hash, set_hash(leaves + i, count)),
                     tag_block | std::uint64_t{item.fraction} << 8 |
                         std::uint64_t{static_cast<std::uint16_t>(item.emin)} << 32),
                 node.wide, true};
          i += count;
        }
      } else {
        for (std::uint32_t i = 0; i < item.count; ++i) sum = leaf(sum, leaves[i], item.op, node.wide);
      }
      empty = false;
    }
    if (node.round != Format::none) sum = rounded(sum.wide ? rounded(sum, Format::none) : sum, node.round);
    values[n] = sum;
  }
  const Value value = nodes.empty() ? start(false, false) : values[root];
  return value.wide ? rounded(value, Format::none).hash : value.hash;
}

Op Tree::main_op() const {
  std::array<std::uint64_t, 5> count{};
  for (const Node& node : nodes)
    for (const Item& item : node.items)
      if (!item.is_node()) count[static_cast<std::size_t>(item.op)] += item.count;
  return static_cast<Op>(std::max_element(count.begin(), count.end()) - count.begin());
}

std::string Tree::text() const {
  const Op op = main_op();
  return order::tree_text(*this, op == Op::mul_f32 ? Op::mul : op, false);  // mul_f32 is no op outside f64(...)
}

std::string Tree::dot() const {
  constexpr std::string_view ops[] = {"fma", "mul", "mul_f32", "mma", "exact"};
  std::string s = "digraph tree {\n  rankdir=BT;\n  node [shape=box, fontname=monospace];\n";
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    s += fmt::format("  n{} [label=\"{}{}\"];\n", n, n == root ? "sum" : "+", node.wide ? " f64" : "");
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const Item& item = node.items[i];
      if (item.is_node()) {
        s += fmt::format("  n{} -> n{} [label=\"{}\"];\n", item.node, n, i + 1);
        continue;
      }
      Tree chain{.k = item.count, .ks = {ks.begin() + item.begin, ks.begin() + item.begin + item.count}, .nodes = {Node{}}};
      chain.nodes[0].items.push_back({.count = item.count});
      s += fmt::format("  n{0}_{1} [shape=ellipse, label=\"{2} {3}\"];\n  n{0}_{1} -> n{0} [label=\"{4}\"];\n", n, i,
                       ops[static_cast<int>(item.op)], chain.text(), i + 1);
    }
  }
  return s + "}\n";
}

}  // namespace samebits
