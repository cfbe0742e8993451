// SPDX-License-Identifier: Apache-2.0
// From the order of the left side to that of the right, one factor at a time.
#pragma once

#include <vector>

#include "samebits/explain.h"

namespace samebits::explain {

// Steps in the order input, op, tree, accumulator, epilogue; those in which the two orders agree everywhere are left out.
// Orders may have regions. `changed` counts elements whose bits differ from the step before.
template <class T>
std::vector<Factor> attribute(const Problem<T>& problem, const Order& left, const Order& right, int threads);

}  // namespace samebits::explain
