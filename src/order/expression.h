// SPDX-License-Identifier: Apache-2.0
// A tree as a term of binary steps in canonical form: the operands of each rounded add are sorted, first items are inlined.
#pragma once

#include <vector>

#include "samebits/tree.h"

namespace samebits::order {

struct Term {
  enum Kind : std::uint8_t {
    start,     // +0, or -0
    leaf,      // left, joined by leaf k
    add,       // round(left + right)
    block,     // left, joined by a fused block of leaves
    exact,     // the correctly rounded sum of leaves
    round,     // left, rounded to `format`
    to_float,  // left, a double, rounded to float
  };
  Kind kind = start;
  Op op = Op::fma;
  bool wide = false;             // computed in double
  bool may_be_negative = false;  // its value can be -0
  Format format = Format::none;
  std::uint32_t left = 0;
  std::uint32_t right = 0;                // add
  std::uint32_t k = 0;                    // leaf
  std::uint32_t least = 0xffffffffu;      // its smallest leaf
  std::uint32_t begin = 0, count = 0;     // block, exact: leaves, ascending
  std::uint16_t width = 0, fraction = 0;  // block

  bool is_step() const { return kind == leaf || kind == add || kind == block; }
};

// Whether a leaf of this op is a product of its own, added to the accumulator.
inline bool is_product(Op op) {
  return op == Op::mul || op == Op::mul_f32;
}

struct Expression {
  // `wide`: the value is wanted in double (the tree stands to the right of f64).
  explicit Expression(const Tree& tree, bool wide = false);

  std::vector<Term> terms;
  std::vector<std::uint32_t> ks;
  std::uint32_t root = 0;

  // The leaf that a step joins, when it joins one.
  const Term* joined_leaf(std::uint32_t step) const;

 private:
  std::uint32_t push(Term term);
  std::uint32_t start(bool negative, bool wide);
  std::uint32_t leaf(std::uint32_t left, std::uint32_t k, Op op, bool wide);
  std::uint32_t add(std::uint32_t left, std::uint32_t right, bool wide);
  std::uint32_t to_float(std::uint32_t term);
  std::uint32_t set(Term term, const Tree& tree, std::uint32_t begin);
  std::uint32_t own_product(std::uint32_t single);
  bool is_single(std::uint32_t term) const;  // one leaf joined to -0, or to +0 by fma
};

}  // namespace samebits::order
