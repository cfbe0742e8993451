// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "samebits/error.h"

namespace samebits::cuda {

// "name(key=value, key=value)" without commas in the values; throws Error(syntax) for a key that is not in `known` ("|a|b|").
inline std::map<std::string, std::string> parse_options(const std::string& text, const std::string& known) {
  std::map<std::string, std::string> options;
  const auto open = text.find('(');
  if (open == std::string::npos) return options;
  if (text.back() != ')') throw Error(Code::syntax, fmt::format("{}: ')' is missing", text), text.size() + 1);
  for (std::size_t at = open + 1; at < text.size() - 1;) {
    const auto end = std::min(text.find(',', at), text.size() - 1);
    const auto first = text.find_first_not_of(' ', at), equals = text.find('=', at);
    if (first >= end) {
      at = end + 1;
      continue;
    }
    const std::string key = text.substr(first, std::min(equals, end) - first);
    if (equals >= end || known.find("|" + key + "|") == std::string::npos)
      throw Error(Code::syntax, fmt::format("{}: expected one of {} with =VALUE, found \"{}\"", text, known, key), first + 1);
    options[key] = text.substr(equals + 1, end - equals - 1);
    at = end + 1;
  }
  return options;
}

}  // namespace samebits::cuda
