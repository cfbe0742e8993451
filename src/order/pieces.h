// SPDX-License-Identifier: Apache-2.0
// The pieces of a tree's root, compiled one by one: for epilogues that scale or begin the sum of the pieces, and for trees
// that change precision between the pieces and their sum.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "samebits/tree.h"

namespace samebits {

struct Pieces {
  Program program;                  // all pieces in turn; where one ends, its value is the tile and the stack is empty
  std::vector<std::uint32_t> ends;  // the packed position after each piece's last leaf
  Format round = Format::none;      // rounding of each piece's value
};

// Nothing where the root joins single products to its sum, or where a piece is no program.
std::optional<Pieces> compile_pieces(const Tree& tree);

}  // namespace samebits
