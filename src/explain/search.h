// SPDX-License-Identifier: Apache-2.0
// Finds the order of one side: fits on one half of the elements, confirms on the half held back, counts what else fits.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "explain/all_trees.h"
#include "explain/candidates.h"
#include "explain/replay.h"
#include "samebits/explain.h"

namespace samebits::explain {

// Elements that choose no order; they only confirm. Half of them, spread without a pattern.
bool held_back(Index element);

// An order is claimed only when a wrong one would have passed with less than this probability.
inline constexpr double chance_limit = 1e-2;

// An order that reproduces every element of a side.
struct Fit {
  Order order;
  std::string key;                    // equal for equivalent orders
  std::vector<std::string> profiles;  // that predict it
};

struct Fits {
  std::vector<Fit> list;  // inequivalent, commonest first
  Index candidates = 0;   // how many there are; more than list.size() when not all were written out
  Index tried = 0;
  double chance = 1;  // expected number of wrong orders that pass like this
  // The only fit is an exact or wider sum: a compensated sum, which no order describes, gives the same bits nearly always.
  bool near_exact = false;
  bool identified() const { return candidates == 1 && chance <= chance_limit && !near_exact; }
};

template <class T>
class Search {
 public:
  Search(const Problem<T>& problem, Format out, const Options& options);

  // Orders that hold for the whole side: the families, every profile with each choice of its keys (or `profile` only), all
  // trees for small K. Elements marked in `ignored` do not count.
  Fits whole(const std::vector<T>& values, const std::string& profile = "", const std::vector<std::uint8_t>& ignored = {});
  // How many of all trees give the elements that are not ignored; 0 where K is too large to try them.
  Index trees_that_fit(const std::vector<T>& values, const std::vector<std::uint8_t>& ignored) const;
  Index tree_count() const { return all_trees_ ? static_cast<Index>(all_trees_->size()) : 0; }
  bool near_exact(const Order& plain) const;
  // Two inputs' worth of advice to tell x and y apart: a row of A and a column of B on which their values differ.
  std::string probe(const Order& x, const Order& y) const;

  const Problem<T>& problem() const { return problem_; }
  const std::vector<Candidate>& tried() const { return candidates_; }

  struct Predicted {  // by profiles; one entry for each different text
    Order order;
    std::vector<std::string> names;
  };
  std::vector<Predicted> predictions(const std::string& profile) const;

 private:
  const std::vector<T>& on_grid(const Order& plain);
  void screen();
  struct Trees {
    Index fit = 0, survived = 0;  // every element; the elements that choose
    double agreeing = 0;          // mean number that agrees on an element
    std::string first;
  };
  Trees trees(const std::vector<T>& values, const std::vector<std::uint8_t>& ignored) const;

  const Problem<T>& problem_;
  Format out_;
  const Options& options_;
  std::vector<Candidate> candidates_;
  Replay<T> everything_;
  std::unique_ptr<Replay<T>> grid_;
  std::vector<std::vector<T>> grid_values_;             // of each candidate; empty: cannot be evaluated
  std::map<std::string, std::vector<T>> plain_values_;  // of profiles' plain orders, by text
  std::unique_ptr<AllTrees> all_trees_;
};

// Calls f(i) for i in [0, n) from `threads` threads.
void parallel_for(std::size_t n, int threads, const std::function<void(std::size_t)>& f);

}  // namespace samebits::explain
