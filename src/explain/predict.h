// SPDX-License-Identifier: Apache-2.0
// Which profiles say that a system uses this order for this call?
#pragma once

#include <string>
#include <vector>

#include "profiles/profile.h"
#include "samebits/probe.h"

namespace samebits::explain {

// "openblas(core=haswell, threads=2)", ..., with the keys that are not at their defaults; profiles whose name is in the
// backend's come first. `order` is what was probed. Large results are compared on a sample of 4096 elements.
std::vector<std::string> predicting_profiles(const std::string& backend, const ProbeCall& call, const Order& order);

profiles::Call profile_call(const ProbeCall& call);
// True where both give every element of C the same tree and roundings, the signs of zeros aside.
bool same_trees(const Order& x, const Order& y, const ProbeCall& call);

}  // namespace samebits::explain
