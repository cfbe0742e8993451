// SPDX-License-Identifier: Apache-2.0
#include "explain/structure.h"

#include <algorithm>
#include <map>

namespace samebits::explain {
namespace {

struct Builder {
  const Levels& known;
  Step step;

  struct Subtree {
    std::uint32_t node = 0;
    std::uint32_t complete = 1;  // leaves under the node, in the whole tree
  };

  std::uint32_t add(Structure::Node node) {
    step.structure.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(step.structure.nodes.size() - 1);
  }

  // `leaves` ascending. The pivot is the first leaf, or the last: from the wrong end a chain costs one round a leaf.
  Subtree build(const std::vector<std::uint32_t>& leaves, bool from_end) {
    const std::uint32_t pivot = from_end ? leaves.back() : leaves.front();
    std::uint32_t node = add({pivot, 1, {}});
    if (leaves.size() == 1) return {node, 1};
    std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
    bool missing = false;
    for (const auto j : leaves) {
      if (j == pivot) continue;
      const auto it = known.find(make_pair_of(pivot, j));
      if (it == known.end()) {
        step.needed.push_back(make_pair_of(pivot, j));
        missing = true;
      } else {
        groups[it->second].push_back(j);
      }
    }
    if (missing) return {node, 1};
    for (const auto& [level, group] : groups) {
      const bool large = group.size() * 10 > leaves.size() * 6;
      const auto other = build(group, large && !from_end);
      auto& nodes = step.structure.nodes;
      if (other.complete == group.size()) {
        const auto size = nodes[node].size + nodes[other.node].size;
        node = add({0, size, {node, other.node}});
      } else {  // the group's root is the parent of what we have: a fused block
        if (nodes[other.node].is_leaf()) step.consistent = false;
        nodes[other.node].size += nodes[node].size;
        nodes[other.node].children.insert(nodes[other.node].children.begin(), node);
        node = other.node;
      }
      if (step.needed.empty() && nodes[node].size > level) step.consistent = false;
    }
    return {node, groups.rbegin()->first};
  }
};

}  // namespace

bool Structure::binary() const {
  return std::all_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.is_leaf() || n.children.size() == 2; });
}

std::uint32_t Structure::smallest_leaf(std::uint32_t node) const {
  if (nodes[node].is_leaf()) return nodes[node].leaf;
  std::uint32_t least = 0xffffffffu;
  std::vector<std::uint32_t> stack{node};
  while (!stack.empty()) {
    const auto& n = nodes[stack.back()];
    stack.pop_back();
    if (n.is_leaf()) least = std::min(least, n.leaf);
    stack.insert(stack.end(), n.children.begin(), n.children.end());
  }
  return least;
}

Step build_structure(std::uint32_t k, const Levels& known) {
  Builder builder{known, {}};
  std::vector<std::uint32_t> leaves(k);
  for (std::uint32_t i = 0; i < k; ++i) leaves[i] = i;
  const auto root = builder.build(leaves, false);
  builder.step.structure.root = root.node;
  if (builder.step.needed.empty() && root.complete != k && k > 1) builder.step.consistent = false;
  return std::move(builder.step);
}

}  // namespace samebits::explain
