// SPDX-License-Identifier: Apache-2.0
// The elements of C by their trees: masked calls tell which products share a sum, how they join and how wide it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/assemble.h"
#include "explain/caller.h"
#include "explain/witness.h"

namespace samebits::explain {

// Elements that have answered every question alike.
struct Class {
  std::vector<std::uint32_t> elements;  // of C, in row order
  Answers answers;
  std::vector<Asked> needed;  // what must still be asked
  bool consistent = true;     // false: no tree gives these answers
  Structure structure;
  bool exact = false;  // no mask swallows anything
  std::optional<Tree> tree;
  std::string why_not;  // where there is no tree
};

struct Classes {
  std::vector<Class> list;
  bool packed = false;    // each row of A asked about another pair: all elements are taken to have one tree, until replay
  bool disagree = false;  // packed rows that should have answered alike did not: ask a pair a call instead
  bool too_many = false;  // elements answer in so many ways that no fixed order can be behind it
  bool wide = false;      // some sums are wider than the element type
  std::string blocks;     // words about fused blocks
};

template <class T>
Classes classify(Caller<T>& caller, const Witness& witness, bool packed);

extern template Classes classify(Caller<float>&, const Witness&, bool);
extern template Classes classify(Caller<double>&, const Witness&, bool);

}  // namespace samebits::explain
