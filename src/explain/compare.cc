// SPDX-License-Identifier: Apache-2.0
#include "explain/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

namespace samebits::explain {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
bool same(T x, T y) {
  return std::bit_cast<Bits<T>>(x) == std::bit_cast<Bits<T>>(y) || (std::isnan(x) && std::isnan(y));
}

template <class T>
std::string bits_of(T x) {
  return fmt::format("0x{:0{}x}", std::bit_cast<Bits<T>>(x), 2 * sizeof(T));
}

// Ascending in the value, -0 just below +0.
template <class T>
Bits<T> ordered(T x) {
  constexpr Bits<T> sign = Bits<T>{1} << (8 * sizeof(T) - 1);
  const auto b = std::bit_cast<Bits<T>>(x);
  return b & sign ? ~b : b | sign;
}

template <class T>
std::optional<std::uint64_t> distance(T x, T y) {
  if (same(x, y)) return 0;
  if (!std::isfinite(x) || !std::isfinite(y)) return std::nullopt;
  const Bits<T> a = ordered(x), b = ordered(y);
  return a > b ? a - b : b - a;
}

std::size_t bin(std::optional<std::uint64_t> ulp) {
  if (!ulp) return 8;
  if (*ulp <= 2) return *ulp;
  if (*ulp <= 16) return static_cast<std::size_t>(std::bit_width(*ulp - 1)) + 1;  // 3-4, 5-8, 9-16
  return *ulp <= 1024 ? 6 : 7;
}

// What the indices (ascending, among 0..n-1) have in common, for "rows" or "columns".
std::string pattern(const std::string& one, const std::string& many, const std::vector<Index>& x, Index n) {
  const Index count = std::ssize(x);
  if (count == n) return fmt::format("all {}", many);
  if (count == 1) return fmt::format("{} {}", one, x[0]);
  const Index step = x[1] - x[0];
  const bool even_steps = std::adjacent_find(x.begin(), x.end(), [&](Index a, Index b) { return b - a != step; }) == x.end();
  if (even_steps && step == 1) {
    if (x[0] == 0) return fmt::format("the first {} {}", count, many);
    if (x.back() == n - 1) return fmt::format("the last {} {}", count, many);
    return fmt::format("{} {}:{}", many, x[0], x.back() + 1);
  }
  if (even_steps && count > 2 && x[0] < step && x.back() + step >= n) return fmt::format("{} {} mod {}", many, x[0], step);
  if (even_steps && count > 2) return fmt::format("{} {}:{}:{}", many, x[0], x.back() + 1, step);
  if (count <= 6) return fmt::format("{} {}", many, fmt::join(x, ", "));
  return fmt::format("{} of {} {}", count, n, many);
}

}  // namespace

bool same_bits(float x, float y) {
  return same(x, y);
}
bool same_bits(double x, double y) {
  return same(x, y);
}
std::string bits(float x) {
  return bits_of(x);
}
std::string bits(double x) {
  return bits_of(x);
}
std::string hex(float x) {
  return fmt::format("{} ({})", bits_of(x), x);
}
std::string hex(double x) {
  return fmt::format("{} ({})", bits_of(x), x);
}
std::optional<std::uint64_t> ulp_distance(float x, float y) {
  return distance(x, y);
}
std::optional<std::uint64_t> ulp_distance(double x, double y) {
  return distance(x, y);
}

template <class T>
Comparison compare(MatrixView<const T> left, MatrixView<const T> right) {
  if (left.rows != right.rows || left.cols != right.cols)
    throw Error(Code::invalid_argument,
                fmt::format("cannot compare {} x {} with {} x {}", left.rows, left.cols, right.rows, right.cols));
  Comparison result;
  result.rows = left.rows;
  result.cols = left.cols;
  result.elements = left.rows * left.cols;
  std::vector<char> row_differs(left.rows), col_differs(left.cols);
  for (Index i = 0; i < left.rows; ++i)
    for (Index j = 0; j < left.cols; ++j) {
      const T x = left(i, j), y = right(i, j);
      const auto ulp = distance(x, y);
      ++result.histogram[bin(ulp)];
      if (ulp == 0) continue;
      if (result.different++ == 0) {
        result.first_row = i;
        result.first_col = j;
        result.first = fmt::format("{} and {}", hex(x), hex(y));
      }
      if (!ulp)
        result.max_ulp.reset();
      else if (result.max_ulp)
        result.max_ulp = std::max(*result.max_ulp, *ulp);
      row_differs[i] = col_differs[j] = 1;
    }
  if (result.equal()) return result;

  const auto set_of = [](const std::vector<char>& flags) {
    std::vector<Index> indices;
    for (std::size_t i = 0; i < flags.size(); ++i)
      if (flags[i]) indices.push_back(static_cast<Index>(i));
    return indices;
  };
  const auto rows = set_of(row_differs), cols = set_of(col_differs);
  const Index block = std::ssize(rows) * std::ssize(cols);
  if (result.different == result.elements) {
    result.where = "all elements";
  } else {
    result.where =
        fmt::format("{}, {}", pattern("row", "rows", rows, left.rows), pattern("column", "columns", cols, left.cols));
    if (result.different < block) result.where += fmt::format(" ({} of these {} elements)", result.different, block);
  }
  return result;
}
template Comparison compare(MatrixView<const float>, MatrixView<const float>);
template Comparison compare(MatrixView<const double>, MatrixView<const double>);

std::string Comparison::text() const {
  if (equal()) return fmt::format("equal: all {} elements have the same bits\n", elements);
  std::string out = fmt::format("different: {} of {} elements\n", different, elements);
  out += fmt::format("  where      {}\n", where);
  out += fmt::format("  first      [{}, {}]: {}\n", first_row, first_col, first);
  out += fmt::format("  largest    {}\n", max_ulp ? fmt::format("{} ULP", *max_ulp) : "a NaN or an infinity meets a number");
  out += "  ULP        elements\n";
  for (std::size_t i = 0; i < bins.size(); ++i)
    if (histogram[i]) out += fmt::format("  {:<10} {}\n", bins[i], histogram[i]);
  return out;
}

}  // namespace samebits::explain
