// SPDX-License-Identifier: Apache-2.0
// Options that several verbs share, and what they mean.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/npy.h"
#include "io/operands.h"
#include "report/gpucheck.h"

namespace samebits::cli {

// An integer option that must not be less.
CLI::Validator at_least(std::int64_t least);

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

// --gpucheck FILE: what samebits-gpucheck measured; without it, samebits-gpucheck.json where the program was started.
class GpuCheckOption {
 public:
  explicit GpuCheckOption(CLI::App& app);
  // Nothing where no file was named and that one is not there, or where the run found no GPU.
  std::optional<report::GpuCheck> read() const;

 private:
  std::string file_;
};

}  // namespace samebits::cli
