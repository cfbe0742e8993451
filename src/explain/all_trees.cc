// SPDX-License-Identifier: Apache-2.0
#include "explain/all_trees.h"

#include <fmt/format.h>

#include <cmath>

namespace samebits::explain {

AllTrees::AllTrees(Index k) {
  const unsigned full = (1u << k) - 1;
  std::vector<std::size_t> begin(full + 2), end(full + 2);
  for (unsigned set = 1; set <= full; ++set) {
    begin[set] = entries_.size();
    for (int leaf = 0; leaf < k; ++leaf) {
      const unsigned bit = 1u << leaf;
      if (set == bit) entries_.push_back({.leaf = leaf});
      if (set == bit || !(set & bit)) continue;
      for (std::size_t x = begin[set ^ bit]; x < end[set ^ bit]; ++x)
        entries_.push_back({.x = static_cast<std::uint32_t>(x), .leaf = leaf});
    }
    // A rounded add commutes: the operand with the least leaf is x.
    const unsigned least = set & -set;
    for (unsigned part = (set - 1) & set; part; part = (part - 1) & set)
      if (part & least)
        for (std::size_t x = begin[part]; x < end[part]; ++x)
          for (std::size_t y = begin[set ^ part]; y < end[set ^ part]; ++y)
            entries_.push_back({.x = static_cast<std::uint32_t>(x), .y = static_cast<std::uint32_t>(y)});
    end[set] = entries_.size();
  }
  begin_ = begin[full];
  end_ = end[full];
}

template <class T>
void AllTrees::values(const T* a, const T* b, std::vector<T>& out) const {
  std::vector<T> v(end_);
  for (std::size_t e = 0; e < end_; ++e) {
    const Entry& t = entries_[e];
    if (t.x == Entry::none)
      v[e] = std::fma(a[t.leaf], b[t.leaf], T(0));
    else if (t.leaf >= 0)
      v[e] = std::fma(a[t.leaf], b[t.leaf], v[t.x]);
    else
      v[e] = v[t.x] + v[t.y];
  }
  out.assign(v.begin() + static_cast<std::ptrdiff_t>(begin_), v.end());
}
template void AllTrees::values(const float*, const float*, std::vector<float>&) const;
template void AllTrees::values(const double*, const double*, std::vector<double>&) const;

std::string AllTrees::text(std::size_t entry) const {
  const Entry& t = entries_[entry];
  if (t.x == Entry::none) return fmt::format("{}", t.leaf);
  if (t.leaf >= 0) return fmt::format("{} + {}", text(t.x), t.leaf);
  return fmt::format("{} + ({})", text(t.x), text(t.y));
}

std::string AllTrees::order(std::size_t index) const {
  return fmt::format("tree({}) > fma", text(begin_ + index));
}

}  // namespace samebits::explain
