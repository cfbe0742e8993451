// SPDX-License-Identifier: Apache-2.0
// Which instruction sets this build has, which of them this machine runs, and which one a call gets.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cpu/kernel.h"

namespace samebits::cpu {

struct Tile {
  int rows, columns;
};

struct Isa {
  std::string_view name;
  Tile f32, f64;  // the packed tiles
  bool built;
  bool supported;
};

// Least to most capable; "portable" is first and always usable.
std::span<const Isa> isas();

// `requested`, else SAMEBITS_ISA, else "": the best one. Error(unsupported) with the names that can be used, where the name
// is unknown or not usable here. "reference" passes.
std::string resolve_isa(const std::string& requested);

// The set of a usable instruction set; "" is the best one here.
template <class T>
const KernelSet<T>& kernel_set(std::string_view isa);

}  // namespace samebits::cpu
