// SPDX-License-Identifier: Apache-2.0
#include "order/scan.h"

#include <fmt/format.h>

namespace samebits::order {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_' || c == '-';
}
bool is_value(char c) {
  return is_word(c) || std::string_view("+.:/@*").find(c) != std::string_view::npos;
}

std::string one_of(std::span<const std::string_view> words) {
  std::string s;
  std::size_t i = 0;
  for (auto w : words) s += fmt::format("{}'{}'", i++ == 0 ? "" : i == words.size() ? " or " : ", ", w);
  return s;
}

}  // namespace

void Scanner::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool Scanner::at(char c) {
  skip_space();
  return at_ < text_.size() && text_[at_] == c;
}

bool Scanner::at_digit() {
  skip_space();
  return at_ < text_.size() && is_digit(text_[at_]);
}

bool Scanner::at_end() {
  skip_space();
  return at_ == text_.size();
}

bool Scanner::accept(char c) {
  const bool here = at(c);
  at_ += here;
  return here;
}

bool Scanner::accept(std::string_view token) {
  skip_space();
  const bool here = text_.substr(at_).starts_with(token);
  if (here) at_ += token.size();
  return here;
}

void Scanner::expect(char c) {
  if (!accept(c)) fail(fmt::format("'{}'", c));
}

std::uint64_t Scanner::number(std::uint64_t min, std::uint64_t max) {
  skip_space();
  const std::size_t start = at_;
  std::uint64_t n = 0;
  while (at_ < text_.size() && is_digit(text_[at_])) {
    const std::uint64_t digit = static_cast<std::uint64_t>(text_[at_] - '0');
    if (n > (max - digit) / 10 || digit > max)
      fail_at(start, fmt::format("expected a number from {} to {}, found a larger one", min, max));
    n = n * 10 + digit;
    ++at_;
  }
  if (at_ == start) fail("a number");
  if (n < min) fail_at(start, fmt::format("expected a number from {} to {}, found {}", min, max, n));
  return n;
}

std::string_view Scanner::peek_word() {
  skip_space();
  std::size_t end = at_;
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && is_word(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Scanner::word() {
  const auto w = peek_word();
  at_ += w.size();
  return w;
}

std::size_t Scanner::choose(std::initializer_list<std::string_view> words) {
  const auto w = peek_word();
  std::size_t i = 0;
  for (auto candidate : words) {
    if (candidate == w) return at_ += w.size(), i;
    ++i;
  }
  fail(one_of({words.begin(), words.size()}));
}

std::string_view Scanner::value() {
  skip_space();
  std::size_t end = at_;
  while (end < text_.size() && is_value(text_[end])) ++end;
  if (end == at_) fail("a value");
  const auto v = text_.substr(at_, end - at_);
  at_ = end;
  return v;
}

void Scanner::fail(std::string_view expected) {
  skip_space();
  std::string found = "the end";
  if (const auto w = peek_word(); !w.empty()) {
    found = fmt::format("'{}'", w.substr(0, 40));
  } else if (at_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    found = c >= 0x20 && c < 0x7f ? fmt::format("'{}'", static_cast<char>(c)) : fmt::format("byte 0x{:02x}", c);
  }
  fail_at(at_, fmt::format("expected {}, found {}", expected, found));
}

void Scanner::fail_at(std::size_t position, std::string_view message) const {
  throw Error(Code::syntax, fmt::format("column {}: {}", position + 1, message), position + 1);
}

bool Options::next() {
  if (in_.accept(')')) return false;
  if (!first_ && !in_.accept(',')) in_.fail("',' or ')'");
  first_ = false;
  in_.at(' ');  // to the next token
  column_ = in_.position();
  const auto w = in_.peek_word();
  index_ = 0;
  for (auto candidate : words_) {
    const bool key = candidate.back() == '=';
    if (w == candidate.substr(0, candidate.size() - key)) {
      if (seen_ >> index_ & 1) in_.fail_at(column_, fmt::format("'{}' is given twice", w));
      seen_ |= 1u << index_;
      in_.word();
      if (key) in_.expect('=');
      return true;
    }
    ++index_;
  }
  in_.fail(one_of(words_));
}

}  // namespace samebits::order
