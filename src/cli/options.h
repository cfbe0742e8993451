// SPDX-License-Identifier: Apache-2.0
// Options that several verbs share, and what they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/npy.h"
#include "io/operands.h"

namespace samebits::cli {

// --dtype bf16|f16: what two-byte raw elements are.
void add_dtype(CLI::App& app, std::optional<io::Stored>& void16);

// --ta, --tb: A or B is stored transposed.
struct ReadingFlags {
  bool a = false, b = false;
};
void add_reading(CLI::App& app, ReadingFlags& flags);

// The reading that the flags ask for; without flags the plain one, and where that does not fit the only other one that does
// (said on stderr unless quiet). Throws Error(invalid_argument) where nothing fits.
io::Operands choose_operands(const io::Array& a, const io::Array& b, const ReadingFlags& flags);

}  // namespace samebits::cli
