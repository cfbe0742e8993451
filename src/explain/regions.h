// SPDX-License-Identifier: Apache-2.0
// Several orders in one result: kernels differ at edges, by row modulo a step, by blocks.
#pragma once

#include <vector>

#include "explain/search.h"

namespace samebits::explain {

// The fewest structured regions that cover a side which no single order reproduces. An order is let in only where it owns a
// region too large to be luck. Elements that no region holds are in an entry without an order.
template <class T>
std::vector<RegionReport> regions(Search<T>& search, const std::vector<T>& values, const Options& options);

}  // namespace samebits::explain
