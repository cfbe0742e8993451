// SPDX-License-Identifier: Apache-2.0
// What single products and sums of two tell about a call: how inputs and results are rounded, what becomes of subnormals,
// and the sign of zero that accumulators start with.
#pragma once

#include <string>
#include <vector>

#include "explain/caller.h"

namespace samebits::explain {

struct Witness {
  InputRounding input;
  Format out = Format::none;
  bool flushes_subnormal_inputs = false, flushes_subnormal_results = false;
  // Of each element, whether the result is -0 when all products are -0, and when all round to it. Accumulators that start
  // from +0 give +0 for the first; for the second only where each is left by an fma.
  std::vector<char> negative, negative_underflow;
  std::vector<std::string> notes;
};

template <class T>
Witness witness(Caller<T>& caller);

extern template Witness witness(Caller<float>&);
extern template Witness witness(Caller<double>&);

}  // namespace samebits::explain
