// SPDX-License-Identifier: Apache-2.0
#include "order/expression.h"

#include <algorithm>
#include <utility>

namespace samebits::order {

std::uint32_t Expression::push(Term term) {
  terms.push_back(term);
  return static_cast<std::uint32_t>(terms.size() - 1);
}

std::uint32_t Expression::start(bool negative, bool wide) {
  return push({.kind = Term::start, .wide = wide, .may_be_negative = negative});
}

bool Expression::is_single(std::uint32_t term) const {
  const Term& t = terms[term];
  return t.kind == Term::leaf && terms[t.left].kind == Term::start && t.may_be_negative;
}

std::uint32_t Expression::leaf(std::uint32_t left, std::uint32_t k, Op op, bool wide) {
  const Term l = terms[left];
  if (l.kind == Term::start && l.may_be_negative && op == Op::fma) op = Op::mul;  // fma(a, b, -0) is round(a*b)
  if (is_product(op) && l.kind != Term::start) return add(left, leaf(start(true, wide), k, op, wide), wide);
  // A fused step can underflow to -0; +0 + (-0) is +0.
  const bool negative = op == Op::fma || l.may_be_negative;
  return push({.kind = Term::leaf,
               .op = op,
               .wide = wide,
               .may_be_negative = negative,
               .left = left,
               .k = k,
               .least = std::min(l.least, k)});
}

std::uint32_t Expression::own_product(std::uint32_t single) {
  const Term t = terms[single];
  return leaf(start(false, t.wide), t.k, t.op == Op::fma ? Op::mul : t.op, t.wide);
}

// To a sum that cannot be -0, round(a*b), fma(a, b, +0) and +0 + round(a*b) add the same; the last stands for all.
std::uint32_t Expression::add(std::uint32_t left, std::uint32_t right, bool wide) {
  if (is_single(right) && !terms[left].may_be_negative) right = own_product(right);
  if (is_single(left) && !terms[right].may_be_negative) left = own_product(left);
  auto product = [&](std::uint32_t term) { return is_single(term) && is_product(terms[term].op); };
  if (product(left) != product(right) ? product(left) : terms[right].least < terms[left].least) std::swap(left, right);
  const Term l = terms[left], r = terms[right];
  return push({.kind = Term::add,
               .wide = wide,
               .may_be_negative = l.may_be_negative && r.may_be_negative,
               .left = left,
               .right = right,
               .least = std::min(l.least, r.least)});
}

std::uint32_t Expression::to_float(std::uint32_t term) {
  return push({.kind = Term::to_float, .may_be_negative = true, .left = term, .least = terms[term].least});
}

std::uint32_t Expression::set(Term term, const Tree& tree, std::uint32_t begin) {
  term.begin = static_cast<std::uint32_t>(ks.size());
  ks.insert(ks.end(), tree.ks.begin() + begin, tree.ks.begin() + begin + term.count);
  std::sort(ks.begin() + term.begin, ks.end());
  term.least = std::min(term.least, ks[term.begin]);
  term.may_be_negative = true;
  return push(term);
}

Expression::Expression(const Tree& tree, bool wide) {
  std::vector<std::uint32_t> values(tree.nodes.size());
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
    const Node& node = tree.nodes[n];
    constexpr std::uint32_t none = 0xffffffffu;
    std::uint32_t sum = none;
    for (const Item& item : node.items) {
      if (item.is_node() || item.op == Op::exact) {
        std::uint32_t part =
            item.is_node() ? values[item.node] : set({.kind = Term::exact, .count = item.count}, tree, item.begin);
        if (terms[part].wide && !node.wide) part = to_float(part);
        sum = sum == none ? part : add(sum, part, node.wide);
        continue;
      }
      if (sum == none) sum = start(node.start_negative, node.wide);
      if (item.op != Op::mma) {
        for (std::uint32_t i = 0; i < item.count; ++i) sum = leaf(sum, tree.ks[item.begin + i], item.op, node.wide);
        continue;
      }
      for (std::uint32_t i = 0; i < item.count;) {
        const std::uint32_t end = i < item.residue ? item.residue : item.count;
        const std::uint32_t count = std::min<std::uint32_t>(std::max<std::uint32_t>(item.block, 1), end - i);
        sum = set({.kind = Term::block,
                   .op = Op::mma,
                   .left = sum,
                   .least = terms[sum].least,
                   .count = count,
                   .width = item.block,
                   .fraction = item.fraction},
                  tree, item.begin + i);
        i += count;
      }
    }
    if (sum == none) sum = start(node.start_negative, node.wide);
    if (node.round != Format::none) {
      if (terms[sum].wide) sum = to_float(sum);
      sum =
          push({.kind = Term::round, .may_be_negative = true, .format = node.round, .left = sum, .least = terms[sum].least});
    }
    values[n] = sum;
  }
  root = tree.nodes.empty() ? start(false, wide) : values[tree.root];
  if (terms[root].wide && !wide) root = to_float(root);
}

const Term* Expression::joined_leaf(std::uint32_t step) const {
  const Term& s = terms[step];
  if (s.kind == Term::leaf) return &s;
  if (s.kind != Term::add) return nullptr;
  const Term& r = terms[s.right];
  const bool product = r.kind == Term::leaf && is_product(r.op) && terms[r.left].kind == Term::start && r.wide == s.wide;
  return product && (is_single(s.right) || !terms[s.left].may_be_negative) ? &r : nullptr;
}

}  // namespace samebits::order
