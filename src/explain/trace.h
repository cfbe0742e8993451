// SPDX-License-Identifier: Apache-2.0
// One element in two orders: where their values part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "samebits/order.h"

namespace samebits::explain {

// A sum of products that both orders form: an accumulator after one of its items, products one by one (mma: block by block).
struct TraceStep {
  std::vector<std::uint32_t> leaves;  // sorted
  double left = 0, right = 0;         // values of the element's type, or double where the accumulator is wide
  bool left_wide = false, right_wide = false;
  bool differs = false;  // NaN equals NaN
};

struct Trace {
  DType dtype = DType::f32;
  bool same_tree = false;

  // The first k whose operands differ after input rounding.
  struct Input {
    std::uint32_t k = 0;
    double left_a = 0, left_b = 0, right_a = 0, right_b = 0;
  };
  std::optional<Input> input;

  // Sums over the same products in both orders: in evaluation order where the trees are the same, else the smallest first.
  // At most `kept` before the first that differs, that one, and the whole sum if it is not among them.
  std::vector<TraceStep> steps;
  std::size_t common = 0;                    // how many there are
  std::optional<std::size_t> first_differs;  // index into steps

  // Different trees: the first k, in the left order, whose joining makes a sum that the right order does not form.
  std::optional<std::uint32_t> parts_at;
  std::vector<std::uint32_t> parts_leaves;  // that sum's leaves, sorted

  double left_sum = 0, right_sum = 0;  // the trees' values
  double left = 0, right = 0;          // after the epilogue
  bool sum_differs = false, differs = false;

  // Hex, as compare.h writes it: "0x3f800000 (1)", 16 digits where wide.
  std::string value(double x, bool wide = false) const;
  // Some lines, with the names of the two sides.
  std::string text(const std::string& left_name, const std::string& right_name) const;
};

// "0 to 31", "0, 4, 8", "0:500:4 (125)": a set of leaves, shortened.
std::string leaves_text(const std::vector<std::uint32_t>& leaves);

// a, b: k contiguous values as given (each order rounds them itself). Both orders plain: neither regions nor a profile.
template <class T>
Trace trace(const Order& left, const Order& right, const T* a, const T* b, Index k, const reference::Scale<T>& scale = {},
            std::size_t kept = 6);

}  // namespace samebits::explain
