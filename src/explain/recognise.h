// SPDX-License-Identifier: Apache-2.0
// The shortest order text that expands to a given tree.
#pragma once

#include <optional>

#include "samebits/order.h"

namespace samebits::explain {

// A rule (chunks, split, lanes, pairwise, ...) where one has this tree at this k, else tree(...); always equivalent to `tree`.
// Empty when the language cannot write the tree.
std::optional<Order> recognise(const Tree& tree);

}  // namespace samebits::explain
