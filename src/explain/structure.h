// SPDX-License-Identifier: Apache-2.0
// A summation tree from the sizes of smallest common subtrees: FPRev (arXiv 2411.00442), made to ask in rounds.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace samebits::explain {

using Pair = std::uint64_t;  // two leaves, the smaller in the high half
inline Pair make_pair_of(std::uint32_t i, std::uint32_t j) {
  return i < j ? std::uint64_t{i} << 32 | j : std::uint64_t{j} << 32 | i;
}
inline std::uint32_t first_of(Pair p) { return static_cast<std::uint32_t>(p >> 32); }
inline std::uint32_t second_of(Pair p) { return static_cast<std::uint32_t>(p); }

// L(i, j): leaves under the lowest common ancestor of i and j.
using Levels = std::unordered_map<Pair, std::uint32_t>;

struct Structure {
  struct Node {
    std::uint32_t leaf = 0;               // when children is empty
    std::uint32_t size = 1;               // leaves below
    std::vector<std::uint32_t> children;  // indices; two of them unless the products enter in a fused block
    bool is_leaf() const { return children.empty(); }
  };
  std::vector<Node> nodes;
  std::uint32_t root = 0;

  bool binary() const;
  // Smallest leaf below a node: a representative that does not depend on how the tree was found.
  std::uint32_t smallest_leaf(std::uint32_t node) const;
};

struct Step {
  std::vector<Pair> needed;  // levels still to ask; empty: finished
  bool consistent = true;    // false: no tree has these levels
  Structure structure;       // when finished and consistent
};
// The tree over leaves 0..k-1, or what else must be known.
Step build_structure(std::uint32_t k, const Levels& known);

}  // namespace samebits::explain
