// SPDX-License-Identifier: Apache-2.0
// Reads order text; every complaint carries the column and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "samebits/error.h"

namespace samebits::order {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t position() const { return at_; }
  bool at(char c);
  bool at_digit();
  bool at_end();
  bool accept(char c);
  bool accept(std::string_view token);
  void expect(char c);
  // Decimal, from min to max; more digits than fit are an error too.
  std::uint64_t number(std::uint64_t min, std::uint64_t max);
  // A letter, then letters, digits, '_' and '-'. Empty where no word begins.
  std::string_view word();
  std::string_view peek_word();
  // One of the words; its index.
  std::size_t choose(std::initializer_list<std::string_view> words);
  // A value of a profile key: letters, digits and "_-+.:/@*".
  std::string_view value();

  // "column 12: expected EXPECTED, found ')'".
  [[noreturn]] void fail(std::string_view expected);
  [[noreturn]] void fail_at(std::size_t position, std::string_view message) const;

 private:
  void skip_space();
  std::string_view text_;
  std::size_t at_ = 0;
};

// The options of a stage, "key=" or "flag", each at most once, in any order, up to the closing parenthesis.
//   for (Options o(in, {"balance=", "floor"}); o.next();) switch (o.index()) ...
class Options {
 public:
  // `first`: the opening parenthesis has just been read, otherwise an argument.
  Options(Scanner& in, std::vector<std::string_view> words, bool first = false)
      : in_(in), words_(std::move(words)), first_(first) {}
  bool next();  // false once ')' has been read
  std::size_t index() const { return index_; }
  std::size_t column() const { return column_; }
  bool seen(std::size_t index) const { return seen_ >> index & 1; }

 private:
  Scanner& in_;
  std::vector<std::string_view> words_;
  bool first_;
  std::size_t index_ = 0, column_ = 0;
  std::uint32_t seen_ = 0;
};

// Prints "name", "name(4,24)", "name(320, balance=8)".
class CallText {
 public:
  explicit CallText(std::string_view name) : text_(name) {}
  CallText& number(std::uint64_t n) { return add(std::to_string(n), ","); }
  CallText& word(std::string_view w) { return add(w, ", "); }
  CallText& option(std::string_view key, std::string_view value) {
    return add(std::string(key) + "=" + std::string(value), ", ");
  }
  CallText& option(std::string_view key, std::uint64_t n) { return option(key, std::to_string(n)); }
  std::string str() const { return open_ ? text_ + ")" : text_; }

 private:
  CallText& add(std::string_view argument, std::string_view separator) {
    text_ += open_ ? separator : "(";
    text_ += argument;
    open_ = true;
    return *this;
  }
  std::string text_;
  bool open_ = false;
};

}  // namespace samebits::order
