// SPDX-License-Identifier: Apache-2.0
// Trees made by hand.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "samebits/tree.h"

namespace samebits::test {

inline Item leaves(std::uint32_t begin, std::uint32_t count, Op op) {
  Item item;
  item.begin = begin;
  item.count = count;
  item.op = op;
  return item;
}

inline Item node(std::uint32_t index) {
  Item item;
  item.node = index;
  return item;
}

// One chain over 0..k-1.
inline Tree chain(std::uint32_t k, Op op) {
  Tree tree;
  tree.k = k;
  tree.ks.resize(k);
  std::iota(tree.ks.begin(), tree.ks.end(), 0u);
  tree.nodes.resize(1);
  if (k) tree.nodes[0].items.push_back(leaves(0, k, op));
  return tree;
}

// Chains of `piece` leaves, the last one shorter, added from left to right.
inline Tree chunks(std::uint32_t k, std::uint32_t piece, Op op) {
  Tree tree = chain(k, op);
  tree.nodes.clear();
  Node root;
  for (std::uint32_t i = 0; i < k; i += piece) {
    root.items.push_back(node(static_cast<std::uint32_t>(tree.nodes.size())));
    tree.nodes.push_back({.items = {leaves(i, std::min(piece, k - i), op)}});
  }
  tree.root = static_cast<std::uint32_t>(tree.nodes.size());
  tree.nodes.push_back(root);
  return tree;
}

// Any tree over k leaves: chains, sub-sums, ops, wide nodes, starts from -0, leaves in any order.
class RandomTree {
 public:
  RandomTree(std::mt19937_64& random, bool float_inputs) : random_(random), float_inputs_(float_inputs) {}

  Tree operator()(std::uint32_t k) {
    tree_ = chain(k, Op::fma);
    tree_.nodes.clear();
    std::shuffle(tree_.ks.begin(), tree_.ks.end(), random_);
    wide_percent_ = below(2) ? 30 : 0;
    tree_.root = add_node(0, k);
    return tree_;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  std::uint32_t add_node(std::uint32_t begin, std::uint32_t count) {
    Node result;
    result.wide = below(100) < wide_percent_;
    result.start_negative = below(4) == 0;
    while (count > 0) {
      const std::uint32_t part = 1 + below(below(2) ? count : std::min(count, 3u));
      if (below(3) == 0) {
        result.items.push_back(node(add_node(begin, part)));
      } else {
        const Op ops[] = {Op::fma, Op::mul, float_inputs_ && result.wide ? Op::mul_f32 : Op::fma};
        result.items.push_back(leaves(begin, part, ops[below(3)]));
      }
      begin += part;
      count -= part;
    }
    tree_.nodes.push_back(result);
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }

  std::mt19937_64& random_;
  bool float_inputs_;
  std::uint32_t wide_percent_ = 0;
  Tree tree_;
};

}  // namespace samebits::test
