// SPDX-License-Identifier: Apache-2.0
#include "order/fold.h"

#include <fmt/format.h>

#include <algorithm>

#include "order/tree_text.h"

namespace samebits::order {
namespace {

std::uint32_t pair(Builder& builder, std::uint32_t x, std::uint32_t y) {
  if (x == Fold::none || y == Fold::none) return x == Fold::none ? y : x;
  return builder.add({x, y});
}

// l with l + ceil(count/2); an odd middle one is carried.
std::vector<std::uint32_t> halve(Builder& builder, const std::vector<std::uint32_t>& parts, std::size_t& count) {
  count = (count + 1) / 2;
  std::vector<std::uint32_t> sums(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(std::min(count, parts.size())));
  for (std::size_t i = count; i < parts.size(); ++i) sums[i - count] = pair(builder, sums[i - count], parts[i]);
  return sums;
}

// Neighbours; an odd last one is carried.
std::vector<std::uint32_t> pair_up(Builder& builder, const std::vector<std::uint32_t>& parts) {
  std::vector<std::uint32_t> sums;
  for (std::size_t i = 0; i < parts.size(); i += 2)
    sums.push_back(i + 1 < parts.size() ? pair(builder, parts[i], parts[i + 1]) : parts[i]);
  return sums;
}

}  // namespace

void Fold::parse(Scanner& in, std::size_t parts) {
  kind_ = static_cast<Kind>(in.choose({"left", "halves", "pairs", "hadd", "tree"}));
  if (kind_ != tree) return;
  const std::size_t column = in.position();
  auto parsed = parse_tree(in, false, Op::mul, false);
  if (parts && parsed.k != parts) in.fail_at(column, fmt::format("the fold has {} parts, expected {}", parsed.k, parts));
  tree_ = std::make_shared<const Tree>(std::move(parsed));
}

std::string Fold::text() const {
  constexpr std::string_view names[] = {"left", "halves", "pairs", "hadd"};
  return kind_ == tree ? "tree(" + tree_text(*tree_, Op::mul, false) + ")" : std::string(names[kind_]);
}

std::string Fold::describe() const {
  constexpr std::string_view names[] = {"added left to right", "folded by halves", "added in pairs",
                                        "folded by one step of halves, then pairs", "added by a tree"};
  return std::string(names[kind_]);
}

std::uint32_t Fold::build(Builder& builder, std::vector<std::uint32_t> parts, std::size_t count) const {
  if (kind_ == left) {
    Node node = builder.node();
    for (auto part : parts)
      if (part != none) node.items.push_back(node_item(part));
    return node.items.empty() ? none : builder.add(std::move(node));
  }
  builder.reordered = true;
  if (kind_ == tree) {
    if (tree_->k != count)
      throw Error(Code::invalid_argument, fmt::format("fold=tree(...) has {} parts, the order makes {}", tree_->k, count));
    std::vector<std::uint32_t> sums(tree_->nodes.size(), none);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Node node = builder.node();
      auto take = [&](std::uint32_t part) {
        if (part != none) node.items.push_back(node_item(part));
      };
      for (const Item& item : tree_->nodes[i].items) {
        if (item.is_node()) take(sums[item.node]);
        for (std::uint32_t j = 0; !item.is_node() && j < item.count; ++j) {
          const std::uint32_t part = tree_->ks[item.begin + j];
          if (part < parts.size()) take(parts[part]);
        }
      }
      if (!node.items.empty()) sums[i] = node.items.size() == 1 ? node.items[0].node : builder.add(std::move(node));
    }
    return sums[tree_->root];
  }
  if (kind_ == hadd) parts = halve(builder, parts, count);
  while (parts.size() > 1) parts = kind_ == halves ? halve(builder, parts, count) : pair_up(builder, parts);
  return parts.empty() ? none : parts[0];
}

}  // namespace samebits::order
