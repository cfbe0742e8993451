// SPDX-License-Identifier: Apache-2.0
// A labelled matrix as few rectangles of ranges.
#pragma once

#include <vector>

#include "samebits/order.h"

namespace samebits::explain {

struct Patch {
  Range rows, cols;
  std::uint32_t label = 0;
};

// Rectangles that hold every element whose label is not `rest`, each element in exactly one.
std::vector<Patch> cover(const std::vector<std::uint32_t>& labels, Index rows, Index cols, std::uint32_t rest);

// The sorted indices as few arithmetic runs.
std::vector<Range> ranges_of(const std::vector<Index>& sorted);

}  // namespace samebits::explain
