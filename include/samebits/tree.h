// SPDX-License-Identifier: Apache-2.0
// The full accumulation order of one element of C for one K, and the program compiled from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "samebits/matrix.h"

namespace [[gnu::visibility("default")]] samebits {

enum class Format : std::uint8_t { none, tf32, bf16, fp16 };

// How a leaf a[k]*b[k] enters its accumulator s.
enum class Op : std::uint8_t {
  fma,      // s <- fma(a, b, s): one rounding
  mul,      // s <- s + round(a*b)
  mul_f32,  // s <- s + round_to_float(a*b), s in double
  mma,      // fused blocks of L products and s, truncated to F fraction bits
  exact,    // the correctly rounded sum of the products; stands alone in its node
};

// A step of a node: a slice of leaves, joined one by one by `op`, or a finished sub-sum, joined by one rounded add.
struct Item {
  static constexpr std::uint32_t no_node = 0xffffffffu;

  std::uint32_t node = no_node;  // index into Tree::nodes, or no_node for leaves
  std::uint32_t begin = 0;       // leaves: Tree::ks[begin, begin + count)
  std::uint32_t count = 0;
  Op op = Op::fma;
  std::uint16_t block = 0;       // mma: L, products in a block
  std::uint16_t fraction = 0;    // mma: F, fraction bits kept after alignment
  std::uint32_t residue = 0;     // mma: the first `residue` leaves form their own blocks (0: none)
  std::int16_t emin = -126;      // mma: least exponent of the input format, -14 for fp16: its subnormals are not normalised

  bool is_node() const { return node != no_node; }
};

// An accumulator. Items are taken left to right. If the first item is leaves, the accumulator starts from +0 (or -0); if it
// is a node, it starts with that node's value. Pieces of the outermost stage stay items of the root, one node each: this is
// what epilogue(alpha=block, c=first) refers to. Nothing is flattened here; equivalence and printing do that.
struct Node {
  std::vector<Item> items;
  bool wide = false;           // its additions are done in double; the value is rounded when it reaches a node that is not wide
  bool start_negative = false; // start=first: from -0
  Format round = Format::none; // split(partial=out): the finished value is rounded (RNE) to fp16 or bf16
};

struct Tree {
  std::uint32_t k = 0;             // every leaf 0..k-1 occurs exactly once in ks
  std::vector<std::uint32_t> ks;   // in evaluation (textual) order
  std::vector<Node> nodes;         // children stand before their parents
  std::uint32_t root = 0;          // k = 0: a node without items, value +0

  // Canonical text: "[0..32:4] + ([2..34:4]) + ([1..33:4] + ([3..35:4])) + 36". `base` is the op that bare leaves have;
  // others carry theirs ("4:mul").
  std::string text() const;
  // Graphviz source.
  std::string dot() const;
  // Equal for two trees of the same k exactly when they are equivalent: when they differ only in which operand of a rounded
  // add is written first, or in how a single product is written that is added to a sum that cannot be -0 (`k` against `(k)`
  // for mul from +0). Equal hashes mean equal bits for every input.
  struct Hash {
    std::uint64_t lo = 0, hi = 0;
    friend bool operator==(const Hash&, const Hash&) = default;
    friend auto operator<=>(const Hash&, const Hash&) = default;
  };
  Hash hash() const;
  // The op of most leaves.
  Op main_op() const;
};

// A run: a chain over consecutive packed positions, in registers.
struct Run {
  enum class Start : std::uint8_t {
    zero,           // from +0
    negative_zero,  // from -0
    c,              // from round(beta * C): epilogue(c=seed)
    resume,         // goes on with the tile that the merge before it left
  };
  std::uint32_t begin = 0;   // first packed position
  std::uint32_t length = 0;  // may be 0: only merges follow
  std::uint32_t merges = 0;  // afterwards, this many times: tile = pop() + tile
  Op op = Op::fma;
  Start start = Start::zero;
  bool push = false;         // then store the tile on the stack
};

// A tree as straight code for one tile of C. After the last run the tile is the result.
struct Program {
  std::uint32_t k = 0;
  std::vector<std::uint32_t> permutation;  // packed position p holds leaf permutation[p]
  std::vector<Run> runs;
  std::uint32_t depth = 0;                 // greatest number of tiles on the stack, at most floor(log2 k) + 1
  bool wide = false;                       // float inputs, all arithmetic in double, rounded once at the end
  bool identity = false;                   // permutation[p] == p
};

// True when every leaf is fma, mul (or, in an all-wide tree, mul_f32 is not needed) and precision does not change inside.
bool is_program(const Tree& tree);
// Throws Error(unsupported) unless is_program(tree). Of the two operands of a rounded add the one with the greater stack
// need is evaluated first (adds commute).
Program compile(const Tree& tree);

}  // namespace samebits
