// SPDX-License-Identifier: Apache-2.0
// Every accumulation tree over k products, fused and unfused: 1, 3, 18, 171, 2250, 37935, 780570 for k = 1..7.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samebits/matrix.h"

namespace samebits::explain {

class AllTrees {
 public:
  static constexpr Index max_k = 7;
  explicit AllTrees(Index k);

  std::size_t size() const { return end_ - begin_; }
  // The value of each tree; a and b are k contiguous values. `out` holds size() values.
  template <class T>
  void values(const T* a, const T* b, std::vector<T>& out) const;
  // "tree(0 + 2 + (1 + 3)) > fma"
  std::string order(std::size_t index) const;

 private:
  // A product; or x with one more product joined by fma; or x + y, rounded.
  struct Entry {
    static constexpr std::uint32_t none = 0xffffffffu;
    std::uint32_t x = none, y = none;
    int leaf = -1;
  };
  std::string text(std::size_t entry) const;

  std::vector<Entry> entries_;       // subsets of leaves by growing mask, so operands stand before their sums
  std::size_t begin_ = 0, end_ = 0;  // the whole set's trees
};

}  // namespace samebits::explain
