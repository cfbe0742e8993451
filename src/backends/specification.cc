// SPDX-License-Identifier: Apache-2.0
#include "backends/specification.h"

#include <fmt/format.h>

#include <vector>

#include "samebits/error.h"

namespace samebits::adapters {
namespace {

std::string trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(s.substr(first, s.find_last_not_of(" \t") - first + 1));
}

std::vector<std::string> split(std::string_view s, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && s[i] == '(') ++depth;
    if (i < s.size() && s[i] == ')') --depth;
    if (i == s.size() || (s[i] == separator && depth == 0)) {
      parts.push_back(trim(s.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return parts;
}

// `inside` is what stands between the parentheses. A comma inside an order belongs to the order: a part without '=' at its
// top level continues the option before it.
void parse_options(std::string_view inside, std::size_t column, Specification* out) {
  std::string* last = nullptr;
  for (const auto& part : split(inside, ',')) {
    const auto equals = part.find('=');
    const auto paren = part.find('(');
    if (equals != std::string::npos && (paren == std::string::npos || equals < paren)) {
      last = &(out->options[trim(part.substr(0, equals))] = trim(part.substr(equals + 1)));
    } else if (last != nullptr && !part.empty()) {
      *last += ", " + part;
    } else if (!part.empty()) {
      throw Error(Code::syntax, fmt::format("backend \"{}\": expected key=value, found \"{}\"", out->text, part), column);
    }
  }
}

// Position of the parenthesis that `s.back() == ')'` closes.
std::size_t opening(std::string_view s) {
  int depth = 0;
  for (std::size_t i = s.size(); i-- > 0;) {
    if (s[i] == ')') ++depth;
    if (s[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::size_t closing(std::string_view s, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < s.size(); ++i) {
    if (s[i] == '(') ++depth;
    if (s[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

Specification parse_specification(const std::string& text) {
  Specification out;
  out.text = text;
  const auto name_end = text.find_first_of(":(");
  out.name = trim(std::string_view(text).substr(0, name_end));
  if (out.name.empty()) throw Error(Code::syntax, "a backend needs a name: see `samebits backends`", 1);
  if (name_end == std::string::npos) return out;
  std::size_t at = name_end;
  if (text[at] == '(') {
    const auto close = closing(text, at);
    if (close == std::string::npos) throw Error(Code::syntax, fmt::format("backend \"{}\": ')' is missing", text), at + 1);
    parse_options(std::string_view(text).substr(at + 1, close - at - 1), at + 2, &out);
    at = text.find_first_not_of(' ', close + 1);
    if (at == std::string::npos) return out;
    if (text[at] != ':') throw Error(Code::syntax, fmt::format("backend \"{}\": expected ':' here", text), at + 1);
  }
  out.argument = trim(std::string_view(text).substr(at + 1));
  // A command keeps its parentheses; a path takes options behind it.
  if (out.name != "command" && !out.argument.empty() && out.argument.back() == ')') {
    const auto open = opening(out.argument);
    if (open != std::string::npos && out.argument.find('=', open) != std::string::npos) {
      parse_options(std::string_view(out.argument).substr(open + 1, out.argument.size() - open - 2), at + open + 3, &out);
      out.argument = trim(std::string_view(out.argument).substr(0, open));
    }
  }
  return out;
}

std::string Specification::option(const std::string& key, const std::string& otherwise) const {
  const auto it = options.find(key);
  return it == options.end() ? otherwise : it->second;
}

std::string Specification::choice(const std::string& key, std::string_view choices) const {
  const auto words = split(choices, '|');
  const auto value = option(key, words.front());
  for (const auto& word : words)
    if (word == value) return value;
  throw Error(Code::syntax, fmt::format("backend \"{}\": {} must be one of {}, found \"{}\"", text, key, choices, value));
}

void Specification::only(std::string_view known) const {
  const auto words = split(known, ',');
  for (const auto& [key, value] : options) {
    bool found = false;
    for (const auto& word : words) found |= word == key;
    if (!found)
      throw Error(Code::syntax, fmt::format("backend \"{}\": unknown option \"{}\"; {} takes {}", text, key, name,
                                            known.empty() ? "no options" : known));
  }
}

}  // namespace samebits::adapters
