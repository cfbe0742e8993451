// SPDX-License-Identifier: Apache-2.0
// Replays the order of a profile for one call and counts the elements with the same bits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "explain/compare.h"
#include "profiles/profile.h"
#include "reference/reference.h"

namespace samebits::test {

// A product as recorded: a is (outer x) m x k, b n x k or k x n (one, or one for each outer index), y outer*m x n.
template <class T>
struct Product {
  profiles::Call call;  // call.m: all rows
  std::vector<T> a, b, bias, y;
};

struct Replay {
  Index equal = 0, all = 0;
  std::string regions;  // orders that occur, with the number of elements that each gets wrong
};

template <class T>
Replay replay(const Order& order, const Product<T>& p) {
  const profiles::Call& c = p.call;
  const Index b_size = c.n * c.k, batches = static_cast<Index>(p.b.size()) / b_size, rows = c.m / batches;
  std::map<std::string, Tree> trees;
  std::map<std::string, Index> wrong;
  Replay result{0, c.m * c.n, {}};
  std::vector<T> a(c.k), b(c.k);
  for (Index i = 0; i < c.m; ++i) {
    for (Index j = 0; j < c.n; ++j) {
      const Order at = order.at(i, j);
      auto it = trees.find(at.text());
      if (it == trees.end()) it = trees.emplace(at.text(), at.tree(c.k)).first;
      for (Index k = 0; k < c.k; ++k) {
        a[k] = p.a[c.trans_a ? k * c.m + i : i * c.k + k];
        b[k] = p.b[i / rows * b_size + (c.trans_b ? j * c.k + k : k * c.n + j)];
      }
      reference::Scale<T> scale;
      if (c.bias) scale.has_bias = true, scale.bias = p.bias[j];
      const bool first = at.epilogue().c != Epilogue::C::last;  // the bias is what C holds beforehand
      if (first && c.bias) scale.has_bias = false, scale.beta = 1, scale.c = p.bias[j];
      const T value = reference::evaluate(it->second, at.epilogue(), at.out(), a.data(), b.data(), scale);
      const bool equal = explain::same_bits(value, p.y[i * c.n + j]);
      result.equal += equal;
      wrong[at.text()] += !equal;
    }
  }
  for (const auto& [text, count] : wrong)
    result.regions += "\n  " + std::to_string(count) + " wrong by " + text.substr(0, 300);
  return result;
}

}  // namespace samebits::test
