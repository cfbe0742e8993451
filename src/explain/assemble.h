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

// Two leaves, or three.
struct Asked {
  Pair pair = 0;
  std::uint32_t third = 0;
  friend auto operator<=>(const Asked&, const Asked&) = default;
};

struct Answers {
  Levels levels;                        // L(i, j)
  std::unordered_map<Pair, int> joins;  // +1: the larger leaf is joined by fma, -1: the smaller one, 0: neither
  Levels small_levels;                  // L(i, j) as a smaller mask shows it: differs where a sum between is wider
  // Does the sum in which the leaves of the pair meet keep more than float's bits until it is added to the next? Where no
  // sum is wider nothing was asked.
  std::unordered_map<Pair, bool> carries;
  // In sums wider than float: +1 when the product of the smaller leaf is rounded to float all the same, +2 that of the
  // larger.
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
// One for each sum but the last: a leaf of each of its two parts, and one of what it is added to.
std::vector<Asked> carry_questions(const Structure& s);
// Nodes with a leaf as a child that answers.carries show to be wide.
std::vector<NodePair> product_pairs(const Structure& s, const Answers& answers);

struct Assembly {
  std::optional<Tree> tree;
  std::string why_not;  // when there is no tree
  unsigned block = 0;   // products in a fused block, 0: none
};
struct Arithmetic {
  unsigned fraction = 0;        // kept bits of fused blocks
  bool products_exact = false;  // inputs are rounded so far that fma and mul are one
  bool negative_start = false;  // accumulators start from -0
  bool fused_seeds = false;     // a product that starts an accumulator does so by fma, where no answer tells
};
Assembly assemble(const Structure& s, const Answers& answers, const Arithmetic& arithmetic);

}  // namespace samebits::explain
