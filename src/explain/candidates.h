// SPDX-License-Identifier: Apache-2.0
// The plain orders that a search tries, each once.
#pragma once

#include <string>
#include <vector>

#include "samebits/explain.h"

namespace samebits::explain {

struct Candidate {
  Order order;
  std::string key;
};

// Equal for two plain orders exactly when they give the same bits for every input at this k, but for the products of rounded
// inputs that leave the range of normal numbers: all others are exact, fused or not. `added`: there is a c; without one the
// epilogue does not matter.
std::string equivalence_key(const Order& plain, Index k, bool added);

// Commonest first, no two with one key. `out`: the format in which the result was stored. Orders with rounded inputs are
// there only for formats that change some input of this problem.
template <class T>
std::vector<Candidate> candidates(const Problem<T>& problem, Format out);

}  // namespace samebits::explain
