// SPDX-License-Identifier: Apache-2.0
// What is wrong with a side that no order reproduces: a bug, or a rounding that is not ours to know.
#pragma once

#include <string>
#include <vector>

#include "explain/search.h"
#include "samebits/explain.h"

namespace samebits::explain {

struct Diagnosis {
  bool outside = false;            // further from the exact result than rounding can bring it: a bug
  std::vector<std::string> notes;  // causes found, or what size the error has
  // A cause with which the search was repeated, and the order that then reproduces the side.
  std::string cause, order;
};

template <class T>
Diagnosis diagnose(const Problem<T>& problem, const Side<T>& side, Search<T>& search, const Options& options);

}  // namespace samebits::explain
