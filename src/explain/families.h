// SPDX-License-Identifier: Apache-2.0
// The accumulation orders that libraries are known to use, written out for one K. docs/explaining.md names the families.
#pragma once

#include <string>
#include <vector>

#include "samebits/matrix.h"

namespace samebits::explain {

struct Family {
  std::string order;    // text, without epilogue
  bool common = false;  // also worth trying with rounded inputs and with c added elsewhere than at the end
};

// Commonest first. Parameters that do nothing at this k are left out where that is easily seen; equivalent orders may
// remain.
std::vector<Family> families(Index k, DType dtype);

// Roundings of the inputs, as order texts: "tf32(rna)", ... Empty for double.
std::vector<std::string> input_roundings(DType dtype);

// What a tensor core does after one of input_roundings(): "mma(4,24)", "split(2) > mma(8,25)", ...
std::vector<std::string> tensor_cores(Index k, const std::string& rounding);

}  // namespace samebits::explain
