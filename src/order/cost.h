// SPDX-License-Identifier: Apache-2.0
// What an order costs on a CPU, before anything has run.
#pragma once

#include <string>

#include "samebits/order.h"

namespace samebits::order {

struct Cost {
  bool program = true;  // compiled for the vector kernels; otherwise `why` says what evaluates it
  std::string why;
  std::size_t runs = 0;      // of the program
  double average_run = 0;    // leaves
  std::uint32_t depth = 0;   // tiles on the stack
  double relative_time = 0;  // expected, fma being 1; 0: not known
};
Cost cost(const Tree& tree);

}  // namespace samebits::order
