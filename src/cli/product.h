// SPDX-License-Identifier: Apache-2.0
// A product and two results of it from the command line, for explain and trace.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/options.h"
#include "samebits/explain.h"

namespace samebits::cli {

struct ProductOptions {
  std::string a, b, c, left, right, left_profile, right_profile;
  ReadingFlags reading;
  std::optional<io::Stored> void16;
  int threads = 0;  // of the calls that made the results; 0: not known
  bool json = false;
  std::vector<Index> element;  // row and column
};
void add_product(CLI::App& app, ProductOptions& options);

// Reads all, finds out how A and B are meant, and explains. Errors name the file.
explain::Report explain_product(const ProductOptions& options);

}  // namespace samebits::cli
