// SPDX-License-Identifier: Apache-2.0
// The one exception type of samebits.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace [[gnu::visibility("default")]] samebits {

enum class Code {
  invalid_argument = 1,  // sizes, overlap, null pointers
  syntax = 2,            // order or profile text; column() says where
  unsupported = 3,       // valid, but not on this machine or in this build
  io = 4,                // a file is missing, truncated or lies about itself
  backend = 5,           // a library or program failed
  out_of_memory = 6,
  internal = 7,
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message, std::size_t column = 0)
      : std::runtime_error(message), code_(code), column_(column) {}
  Code code() const noexcept { return code_; }
  // 1-based column in the text that was parsed, 0 where it has no meaning.
  std::size_t column() const noexcept { return column_; }

 private:
  Code code_;
  std::size_t column_;
};

}  // namespace samebits
