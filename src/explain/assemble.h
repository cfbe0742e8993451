// SPDX-License-Identifier: Apache-2.0
// From what was asked about a class of elements to its tree.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "explain/structure.h"
#include "samebits/tree.h"

namespace samebits::explain {

struct Answers {
  Levels levels;                             // L(i, j)
  std::unordered_map<Pair, int> joins;       // +1: the larger leaf is joined by fma, -1: the smaller one, 0: neither
  Levels small_levels;                       // L(i, j) as a smaller mask shows it: differs where the sum is wider
  // In sums wider than float: +1 when the product of the smaller leaf is rounded to float all the same, +2 that of the larger.
  std::unordered_map<Pair, int> products;
};

// A pair of leaves below different children of a node, where an answer tells about this node.
struct NodePair {
  std::uint32_t node;
  Pair pair;
};
// Nodes that have a leaf as a child: how does it join?
std::vector<NodePair> join_pairs(const Structure& s);
// All nodes of three leaves and more.
std::vector<NodePair> width_pairs(const Structure& s);

// Of these, the nodes with a leaf as a child that answers.small_levels show to be wide.
std::vector<NodePair> product_pairs(const Structure& s, const Answers& answers);

struct Assembly {
  std::optional<Tree> tree;
  std::string why_not;       // when there is no tree
  unsigned block = 0;        // products in a fused block, 0: none
};
// `fraction`: kept bits of fused blocks, from the witness. `products_exact`: inputs are rounded so far that fma and mul are one.
// `negative_start`: accumulators start from -0.
Assembly assemble(const Structure& s, const Answers& answers, unsigned fraction, bool products_exact, bool negative_start);

}  // namespace samebits::explain
