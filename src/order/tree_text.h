// SPDX-License-Identifier: Apache-2.0
// Trees as text: "0 + 2 + (1 + 3) + [4..10:2]".
#pragma once

#include "order/scan.h"
#include "samebits/tree.h"

namespace samebits::order {

// Reads "(...)": a tree over the positions 0..k-1, each once. Leaves without an op of their own get `op`; without `ops`
// there are none that have one (fold=tree). `wide`: the tree stands to the right of f64.
Tree parse_tree(Scanner& in, bool wide, Op op, bool ops);

// Canonical text. Leaves whose op is `base` are printed bare, those in `wide` precision without f64(...).
std::string tree_text(const Tree& tree, Op base, bool wide);

}  // namespace samebits::order
