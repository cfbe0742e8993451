// SPDX-License-Identifier: Apache-2.0
// The tree that adds partial sums. Parts that are missing (empty lanes) take no part, the others keep their numbers.
#pragma once

#include "order/stage.h"

namespace samebits::order {

class Fold {
 public:
  static constexpr std::uint32_t none = Item::no_node;  // an empty lane
  static constexpr std::string_view usage = "left|halves|pairs|hadd|tree(...)";

  // Reads what follows "fold=". `parts`: how many there will be, 0 where that depends on K.
  void parse(Scanner& in, std::size_t parts);
  std::string text() const;
  std::string describe() const;
  bool is_left() const { return kind_ == left; }
  // Adds `count` parts, of which those past the end of `parts` are missing; a node, or `none` when all are.
  std::uint32_t build(Builder& builder, std::vector<std::uint32_t> parts, std::size_t count) const;

 private:
  enum Kind { left, halves, pairs, hadd, tree } kind_ = left;
  std::shared_ptr<const Tree> tree_;  // its leaves are the numbers of the parts
};

}  // namespace samebits::order
