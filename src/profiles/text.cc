// SPDX-License-Identifier: Apache-2.0
#include "profiles/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace samebits::profiles {

std::string leaves(Index begin, Index end, Index step, std::string_view op) {
  if (begin >= end) return {};
  const Index count = (end - begin - 1) / step + 1, last = begin + (count - 1) * step;
  if (count == 1) return fmt::format("{}{}", begin, op);
  if (count == 2) return fmt::format("{}{} + {}{}", begin, op, last, op);
  return step == 1 ? fmt::format("[{}..{}]{}", begin, last, op) : fmt::format("[{}..{}:{}]{}", begin, last, step, op);
}

std::string then(std::string x, const std::string& y) {
  if (x.empty() || y.empty()) return x.empty() ? y : x;
  return std::move(x) + " + " + y;
}

std::string plus(std::string x, const std::string& y) {
  if (x.empty() || y.empty()) return x.empty() ? y : x;
  return std::move(x) + " + (" + y + ")";
}

std::string fold(std::vector<std::string> parts, Fold how) {
  auto pairs = [&] {
    std::vector<std::string> next;
    for (std::size_t i = 0; i < parts.size(); i += 2)
      next.push_back(i + 1 < parts.size() ? plus(parts[i], parts[i + 1]) : parts[i]);
    parts = std::move(next);
  };
  auto halves = [&] {
    const std::size_t h = (parts.size() + 1) / 2;
    for (std::size_t i = h; i < parts.size(); ++i) parts[i - h] = plus(parts[i - h], parts[i]);
    parts.resize(h);
  };
  if (how == Fold::hadd && parts.size() > 1) halves();
  while (parts.size() > 1) {
    if (how == Fold::halves) {
      halves();
    } else if (how == Fold::left) {
      parts[0] = plus(parts[0], parts[1]);
      parts.erase(parts.begin() + 1);
    } else {
      pairs();
    }
  }
  return parts.empty() ? std::string() : parts[0];
}

std::vector<std::string> lane_sums(Index begin, Index end, Index lanes) {
  std::vector<std::string> sums;
  for (Index l = 0; l < lanes; ++l) sums.push_back(leaves(begin + l, end, lanes));
  return sums;
}

std::string tree(const std::string& text, std::string_view op) {
  return fmt::format("tree({}) > {}", text, op);
}

void Areas::add(Range rows, Range cols, std::string order) {
  rows.end = std::min(rows.end, m_);
  cols.end = std::min(cols.end, n_);
  if (rows.begin < rows.end && cols.begin < cols.end) areas_.push_back({rows, cols, std::move(order)});
}

void Areas::add(const Areas& block, Index row, Index col) {
  auto moved = [](Range r, Index by) { return Range{r.begin + by, r.end + by, r.step}; };
  for (const Area& area : block.areas_) add(moved(area.rows, row), moved(area.cols, col), area.order);
  add({row, row + block.m_, 1}, {col, col + block.n_, 1}, block.rest_);
}

Areas Areas::repeated(Index outer) const {
  if (outer == 1) return *this;
  Areas all(m_ * outer, n_);
  all.rest(rest_);
  for (const Area& area : areas_) {
    if (area.rows.step == 1) {
      strided(area.rows.begin, area.rows.end - area.rows.begin, m_, outer,
              [&](Range rows) { all.add(rows, area.cols, area.order); });
    } else {
      for (Index i = 0; i < outer; ++i)
        all.add({area.rows.begin + i * m_, area.rows.end + i * m_, area.rows.step}, area.cols, area.order);
    }
  }
  return all;
}

Order Areas::order() const {
  std::map<std::string, Order> parsed;
  auto get = [&](const std::string& text) -> const Order& {
    auto it = parsed.find(text);
    if (it == parsed.end()) it = parsed.emplace(text, Order::parse(text)).first;
    return it->second;
  };
  std::size_t used = areas_.size();
  while (used > 0 && areas_[used - 1].order == rest_) --used;
  std::vector<Region> regions;
  for (std::size_t i = 0; i < used; ++i) regions.push_back({areas_[i].rows, areas_[i].cols, get(areas_[i].order)});
  if (regions.empty()) return get(rest_);
  return Order::with_regions(std::move(regions), get(rest_));
}

bool batched_b(const Call& call) {
  return call.b_shape.size() > 2;
}

Batch batch(const Call& call) {
  Batch result{1, call};
  result.inner.a_shape.clear();
  result.inner.b_shape.clear();
  const std::size_t rank = call.a_shape.size();
  if (rank < 2 || (rank == 2 && !batched_b(call))) return result;
  const Index m = call.a_shape[rank - (call.trans_a ? 1 : 2)];
  if (m > 0 && call.m % m == 0) {
    result.outer = call.m / m;
    result.inner.m = m;
  }
  return result;
}

const std::string& text_key(const Keys& keys, std::string_view name) {
  static const std::string none;
  const auto it = keys.find(std::string(name));
  return it == keys.end() ? none : it->second;
}

const std::string& choice(const Keys& keys, std::string_view name, std::initializer_list<std::string_view> choices) {
  const std::string& value = text_key(keys, name);
  if (std::find(choices.begin(), choices.end(), value) == choices.end())
    throw Error(Code::syntax, fmt::format("{}={}: expected {}", name, value, fmt::join(choices, ", ")));
  return value;
}

Index number(const Keys& keys, std::string_view name, Index low, Index high) {
  const std::string& value = text_key(keys, name);
  Index result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < low || result > high)
    throw Error(Code::syntax, fmt::format("{}={}: expected a number from {} to {}", name, value, low, high));
  return result;
}

}  // namespace samebits::profiles
