// SPDX-License-Identifier: Apache-2.0
// Bits of two matrices, element by element: which differ, by how many units in the last place, and where.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "samebits/error.h"
#include "samebits/matrix.h"

namespace samebits::explain {

// NaN equals NaN whatever its payload; +0 and -0 differ.
bool same_bits(float x, float y);
bool same_bits(double x, double y);

// "0x3f800000 (1)": the bits, then the shortest decimal that reads back as the same value.
std::string hex(float x);
std::string hex(double x);
// The bits alone: "0x3f800000".
std::string bits(float x);
std::string bits(double x);

// Number of representable values between x and y, counted over the ordered integers (-0 and +0 are one apart): 0 for same
// bits, nullopt when NaN or an infinity meets a number or each other.
std::optional<std::uint64_t> ulp_distance(float x, float y);
std::optional<std::uint64_t> ulp_distance(double x, double y);

struct Comparison {
  Index rows = 0, cols = 0;
  Index elements = 0, different = 0;
  // 0: no finite difference; nullopt: a NaN or an infinity meets a number.
  std::optional<std::uint64_t> max_ulp = 0;
  // Elements at distance 0, 1, 2, 3..4, 5..8, 9..16, 17..1024, more, and those without a distance.
  static constexpr std::array<const char*, 9> bins = {"0", "1", "2", "3-4", "5-8", "9-16", "17-1024", ">1024", "special"};
  std::array<Index, 9> histogram{};
  Index first_row = -1, first_col = -1;  // the first element that differs, row by row; -1: none
  std::string first;                     // its two values: "0x... (..) and 0x... (..)"
  std::string where;                     // "all elements", "rows 2:5, columns 1 mod 4", ...

  bool equal() const { return different == 0; }
  // Some lines of text, without colour.
  std::string text() const;
};

template <class T>
Comparison compare(MatrixView<const T> left, MatrixView<const T> right);

}  // namespace samebits::explain
