// SPDX-License-Identifier: Apache-2.0
// Trees made by hand.
#pragma once

#include <algorithm>
#include <numeric>

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

}  // namespace samebits::test
