// SPDX-License-Identifier: Apache-2.0
#include "order/stage.h"

namespace samebits::order {

std::uint32_t Stage::build(Builder&, Ks, Stages) const {
  throw Error(Code::internal, "a setting has no tree");
}

std::uint32_t Leaf::build(Builder& builder, Ks ks, Stages) const {
  Node node = builder.node(start_negative());
  join(builder, node, ks);
  return builder.add(std::move(node));
}

Item Builder::leaves(Ks ks, Op op) {
  Item item{.begin = static_cast<std::uint32_t>(tree.ks.size()), .count = static_cast<std::uint32_t>(ks.size()), .op = op};
  tree.ks.insert(tree.ks.end(), ks.begin(), ks.end());
  return item;
}

std::uint32_t Builder::add(Node node) {
  tree.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(tree.nodes.size() - 1);
}

std::uint32_t Builder::add(std::initializer_list<std::uint32_t> parts) {
  Node n = node();
  for (auto part : parts) n.items.push_back(node_item(part));
  return add(std::move(n));
}

std::vector<std::uint32_t> Builder::build_pieces(Stages rest, Ks ks, std::span<const std::size_t> sizes) {
  std::vector<std::uint32_t> pieces;
  pieces.reserve(sizes.size());
  for (auto size : sizes) {
    pieces.push_back(build(rest, ks.first(size)));
    ks = ks.subspan(size);
  }
  return pieces;
}

Tree Builder::finish(std::uint32_t root, std::uint32_t k) {
  tree.root = root;
  tree.k = k;
  if (reordered) {  // leaves in textual order
    std::vector<std::uint32_t> ks;
    ks.reserve(tree.ks.size());
    struct Place {
      std::uint32_t node, item;
    };
    std::vector<Place> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == tree.nodes[node].items.size()) {
        stack.pop_back();
        continue;
      }
      Item& item = tree.nodes[node].items[next++];
      if (item.is_node()) {
        stack.push_back({item.node, 0});
        continue;
      }
      const auto begin = tree.ks.begin() + item.begin;
      item.begin = static_cast<std::uint32_t>(ks.size());
      ks.insert(ks.end(), begin, begin + item.count);
    }
    tree.ks = std::move(ks);
  }
  return std::move(tree);
}

}  // namespace samebits::order
