// SPDX-License-Identifier: Apache-2.0
// What the profiles share: the text of explicit trees, region maps, values of keys.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/profile.h"

namespace samebits::profiles {

// --- Explicit trees as text. An empty text is an empty sum and takes no part.

// The leaves begin, begin + step, ... < end, bare; `op` (":mul", ":fma") where it is not that of the tree.
std::string leaves(Index begin, Index end, Index step = 1, std::string_view op = {});
// x + y: the leaves of y join the accumulator of x one by one.
std::string then(std::string x, const std::string& y);
// x + (y): y is a finished sum.
std::string plus(std::string x, const std::string& y);

enum class Fold { left, halves, pairs, hadd };
std::string fold(std::vector<std::string> parts, Fold how);
// `lanes` sums over the positions [begin, end): lane l takes begin + l, begin + l + lanes, ...
std::vector<std::string> lane_sums(Index begin, Index end, Index lanes);
// "tree(T) > op"
std::string tree(const std::string& text, std::string_view op);

// --- Regions.

struct Area {
  Range rows, cols;
  std::string order;
};

// The areas of one m x n product; where they overlap the first one added holds.
class Areas {
 public:
  Areas(Index m, Index n) : m_(m), n_(n) {}
  Index m() const { return m_; }
  Index n() const { return n_; }

  // Parts outside of the product are cut off, empty areas are dropped.
  void add(Range rows, Range cols, std::string order);
  void rest(std::string order) { rest_ = std::move(order); }  // of what no area covers
  const std::string& rest() const { return rest_; }
  // All that `block` says, moved by (row, col) and inside of its own m x n.
  void add(const Areas& block, Index row, Index col);
  Range all_rows() const { return {0, m_, 1}; }
  Range all_cols() const { return {0, n_, 1}; }

  // `outer` copies one below the other.
  Areas repeated(Index outer) const;
  // A plain order if all areas have the same.
  Order order() const;

 private:
  Index m_, n_;
  std::vector<Area> areas_;
  std::string rest_;
};

// Cuts the range [0, count) in blocks as `period` says: the areas of offset r in each block, as strided ranges where that
// gives fewer of them. calls f(Range).
template <class F>
void strided(Index begin, Index width, Index period, Index count, F&& f) {
  if (count <= width) {
    for (Index i = 0; i < count; ++i) f(Range{begin + i * period, begin + i * period + width, 1});
  } else {
    for (Index r = 0; r < width; ++r) f(Range{begin + r, begin + r + (count - 1) * period + 1, period});
  }
}

// --- Calls.

// One of the products that a system makes when it multiplies each outer index on its own: m of op(A)'s last two dimensions.
struct Batch {
  Index outer = 1;  // how many
  Call inner;       // one of them; shapes are cleared
};
Batch batch(const Call& call);
// True where B has more than two dimensions: a batch, not one matrix for all rows.
bool batched_b(const Call& call);

// --- Keys.

const std::string& text_key(const Keys& keys, std::string_view name);
// Error(syntax) unless the value is one of `choices`.
const std::string& choice(const Keys& keys, std::string_view name, std::initializer_list<std::string_view> choices);
Index number(const Keys& keys, std::string_view name, Index low, Index high);

inline Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}
inline Index round_up(Index a, Index b) {
  return ceil_div(a, b) * b;
}
inline Index size_of(DType type) {
  return type == DType::f32 ? 4 : 8;
}

}  // namespace samebits::profiles
