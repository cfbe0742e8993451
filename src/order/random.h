// SPDX-License-Identifier: Apache-2.0
// Random trees and orders, for tests and self-tests.
#pragma once

#include <random>

#include "samebits/order.h"

namespace samebits::order {

// A tree over 0..k-1 in which any binary tree can occur; leaves are in random order when `shuffle`.
Tree random_tree(std::mt19937_64& rng, std::uint32_t k, Op op, bool shuffle = true);

// The same value: operands of rounded adds swapped at random where the tree can be written so.
Tree commuted(std::mt19937_64& rng, const Tree& tree);

struct RandomOrder {
  bool program = true;         // fma and mul in one precision only: what compile() accepts
  bool mma_and_exact = false;  // else these leaf ops too
  bool input = false;          // rounding of A and B
  bool out = false;            // rounding of the result, and of partial sums
  bool epilogue = false;
  bool explicit_tree = false;  // tree(...) over k leaves, and lists of chunks
};
// A plain order that has a tree at this k.
Order random_order(std::mt19937_64& rng, std::uint32_t k, const RandomOrder& options = {});

// Regions that fit rows x cols, of random orders.
Order random_regions(std::mt19937_64& rng, Index rows, Index cols, std::uint32_t k, const RandomOrder& options = {});

}  // namespace samebits::order
