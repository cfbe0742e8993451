// SPDX-License-Identifier: Apache-2.0
// "cblas:/usr/lib/libfoo.so(prefix=scipy_, int=64)" taken apart.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace samebits::adapters {

struct Specification {
  std::string text;      // as given
  std::string name;      // before the first ':' or '('
  std::string argument;  // path or command; may be empty
  std::map<std::string, std::string> options;

  // The option, or `otherwise`; marks it as known to the backend.
  std::string option(const std::string& key, const std::string& otherwise) const;
  // The option, which must be one of the words in `choices` ("gemm|numpy"); the first is the default.
  std::string choice(const std::string& key, std::string_view choices) const;
  // Throws Error(syntax) when an option was given that is not in `known` ("order, isa").
  void only(std::string_view known) const;
};

Specification parse_specification(const std::string& text);

}  // namespace samebits::adapters
