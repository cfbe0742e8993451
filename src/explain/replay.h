// SPDX-License-Identifier: Apache-2.0
// Values of orders on a problem, or on a grid of its rows and columns.
#pragma once

#include <vector>

#include "samebits/explain.h"
#include "samebits/gemm.h"

namespace samebits::explain {

// An element of the problem: matrix of the batch, row, column.
struct Place {
  Index item = 0, i = 0, j = 0;
};

template <class T>
Place place(const Problem<T>& problem, Index e) {
  const Index mn = problem.m() * problem.n();
  return {e / mn, e % mn / problem.n(), e % problem.n()};
}

// The rows x columns x batch items that are looked at; values are stored item by item, row-major.
template <class T>
class Replay {
 public:
  // Everything. The problem must live as long.
  explicit Replay(const Problem<T>& problem, int threads = 1);
  // Copies the rows and columns named.
  Replay(const Problem<T>& problem, std::vector<Index> items, std::vector<Index> rows, std::vector<Index> cols,
         int threads = 1);

  Index size() const { return static_cast<Index>(items_.size() * rows_.size() * cols_.size()); }
  Place at(Index e) const;       // of the problem
  Index element(Index e) const;  // its number in the whole problem

  // Any order, with regions or without. Throws what Plan throws.
  std::vector<T> values(const Order& order) const;

 private:
  void plain(const Order& order, std::vector<T>& out) const;

  const Problem<T>& problem_;
  std::vector<Index> items_, rows_, cols_;
  bool all_;
  int threads_;
  std::vector<std::vector<T>> storage_;
  std::vector<MatrixView<const T>> a_, b_, c_;
};

}  // namespace samebits::explain
