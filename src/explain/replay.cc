// SPDX-License-Identifier: Apache-2.0
#include "explain/replay.h"

#include <map>
#include <numeric>

namespace samebits::explain {
namespace {

std::vector<Index> iota(Index n) {
  std::vector<Index> v(n);
  std::iota(v.begin(), v.end(), Index{0});
  return v;
}

}  // namespace

template <class T>
Replay<T>::Replay(const Problem<T>& problem, int threads)
    : problem_(problem),
      items_(iota(problem.batch())),
      rows_(iota(problem.m())),
      cols_(iota(problem.n())),
      all_(true),
      threads_(threads),
      a_(problem.a),
      b_(problem.b),
      c_(problem.c) {}

template <class T>
Replay<T>::Replay(const Problem<T>& problem, std::vector<Index> items, std::vector<Index> rows, std::vector<Index> cols,
                  int threads)
    : problem_(problem),
      items_(std::move(items)),
      rows_(std::move(rows)),
      cols_(std::move(cols)),
      all_(false),
      threads_(threads) {
  const Index m = std::ssize(rows_), n = std::ssize(cols_), k = problem.k();
  const auto keep = [&](std::vector<T> v, Index r, Index c) {
    storage_.push_back(std::move(v));
    return MatrixView<const T>(row_major<const T>(storage_.back().data(), r, c));
  };
  for (Index item : items_) {
    std::vector<T> a(m * k), b(k * n);
    for (Index r = 0; r < m; ++r)
      for (Index p = 0; p < k; ++p) a[r * k + p] = problem.a[item](rows_[r], p);
    for (Index p = 0; p < k; ++p)
      for (Index c = 0; c < n; ++c) b[p * n + c] = problem.b[item](p, cols_[c]);
    a_.push_back(keep(std::move(a), m, k));
    b_.push_back(keep(std::move(b), k, n));
    if (problem.c.empty()) continue;
    std::vector<T> c(m * n);
    for (Index r = 0; r < m; ++r)
      for (Index j = 0; j < n; ++j) c[r * n + j] = problem.c[item](rows_[r], cols_[j]);
    c_.push_back(keep(std::move(c), m, n));
  }
}

template <class T>
Place Replay<T>::at(Index e) const {
  const Index n = std::ssize(cols_), mn = std::ssize(rows_) * n;
  return {items_[e / mn], rows_[e % mn / n], cols_[e % n]};
}

template <class T>
Index Replay<T>::element(Index e) const {
  const Place p = at(e);
  return (p.item * problem_.m() + p.i) * problem_.n() + p.j;
}

template <class T>
void Replay<T>::plain(const Order& order, std::vector<T>& out) const {
  const Index m = std::ssize(rows_), n = std::ssize(cols_);
  const Plan<T> plan(order, m, n, problem_.k(), {.threads = threads_, .isa = ""});
  for (std::size_t item = 0; item < items_.size(); ++item) {
    MatrixView<T> c = row_major(out.data() + item * m * n, m, n);
    if (!c_.empty())
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < n; ++j) c(i, j) = c_[item](i, j);
    plan.run(1, a_[item], b_[item], c_.empty() ? T(0) : T(1), c);
  }
}

template <class T>
std::vector<T> Replay<T>::values(const Order& order) const {
  std::vector<T> out(size());
  if (all_ || !order.has_regions()) {
    plain(order, out);
    return out;
  }
  std::map<std::string, std::vector<T>> parts;  // a plain order's values on the grid
  for (Index e = 0; e < size(); ++e) {
    const Place p = at(e);
    const Order o = order.at(p.i, p.j);
    auto [part, fresh] = parts.try_emplace(o.text());
    if (fresh) {
      part->second.resize(size());
      plain(o, part->second);
    }
    out[e] = part->second[e];
  }
  return out;
}

template class Replay<float>;
template class Replay<double>;

}  // namespace samebits::explain
