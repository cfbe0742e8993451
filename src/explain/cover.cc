// SPDX-License-Identifier: Apache-2.0
#include "explain/cover.h"

#include <algorithm>
#include <map>
#include <set>

namespace samebits::explain {

namespace {

std::vector<Range> neighbours(const std::vector<Index>& sorted) {
  std::vector<Range> out;
  for (const Index i : sorted) {
    if (!out.empty() && out.back().end == i)
      ++out.back().end;
    else
      out.push_back({i, i + 1, 1});
  }
  return out;
}

}  // namespace

std::vector<Range> ranges_of(const std::vector<Index>& sorted) {
  const auto plain = neighbours(sorted);
  std::vector<Range> out;
  std::set<Index> left(sorted.begin(), sorted.end());
  while (!left.empty()) {
    const Index begin = *left.begin();
    Index best_step = 1, best = 1;
    // A step is worth trying when the next member lies there; the longest run wins, the smallest step among equals.
    for (auto it = std::next(left.begin()); it != left.end(); ++it) {
      const Index step = *it - begin;
      Index count = 1;
      while (left.count(begin + count * step) != 0) ++count;
      if (count > best) {
        best = count;
        best_step = step;
      }
      if (best >= static_cast<Index>(left.size()) || step * 2 > *left.rbegin() - begin) break;
    }
    out.push_back({begin, begin + (best - 1) * best_step + 1, best_step});
    for (Index i = 0; i < best; ++i) left.erase(begin + i * best_step);
  }
  // Blocks of neighbours are easier to read: a step must save half of the ranges.
  if (plain.size() < 2 * out.size()) return plain;
  return out;
}

std::vector<Patch> cover(const std::vector<std::uint32_t>& labels, Index rows, Index cols, std::uint32_t rest) {
  // Rows that look alike go together; then, label by label, the rows whose set of columns is the same.
  std::map<std::vector<std::uint32_t>, std::vector<Index>> alike;
  for (Index i = 0; i < rows; ++i)
    alike[{labels.begin() + i * cols, labels.begin() + (i + 1) * cols}].push_back(i);
  std::map<std::pair<std::uint32_t, std::vector<Index>>, std::vector<Index>> blocks;  // label, columns -> rows
  for (const auto& [pattern, members] : alike) {
    std::map<std::uint32_t, std::vector<Index>> columns;
    for (Index j = 0; j < cols; ++j) columns[pattern[static_cast<std::size_t>(j)]].push_back(j);
    for (auto& [label, set] : columns)
      if (label != rest) {
        auto& r = blocks[{label, std::move(set)}];
        r.insert(r.end(), members.begin(), members.end());
      }
  }
  std::vector<Patch> out;
  for (auto& [key, members] : blocks) {
    std::sort(members.begin(), members.end());
    for (const auto& r : ranges_of(members))
      for (const auto& c : ranges_of(key.second)) out.push_back({r, c, key.first});
  }
  std::sort(out.begin(), out.end(), [](const Patch& x, const Patch& y) {
    return std::tie(x.rows.begin, x.cols.begin) < std::tie(y.rows.begin, y.cols.begin);
  });
  return out;
}

}  // namespace samebits::explain
