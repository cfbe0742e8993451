// SPDX-License-Identifier: Apache-2.0
// Why two matrix products differ in their bits: finds the accumulation order of each side, replays it, and names what
// separates them. docs/explaining.md says how it reasons and what each verdict promises.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "samebits/matrix.h"
#include "samebits/order.h"

namespace [[gnu::visibility("default")]] samebits {
namespace explain {

// One product C = A*B (+ c), or a batch of them. A is m x k, B is k x n.
template <class T>
struct Problem {
  std::vector<MatrixView<const T>> a, b;  // one view for each matrix of the batch
  std::vector<MatrixView<const T>> c;     // what is added, m x n each (row stride 0 for a bias); empty: nothing
  // How the call was made: profiles depend on it.
  std::vector<Index> a_shape, b_shape;    // before leading dimensions were flattened; empty: as the views
  bool trans_a = false, trans_b = false;  // A is stored k x m, B is stored n x k
  int threads = 0;                        // 0: not known, profiles try 1 and 2

  Index batch() const { return static_cast<Index>(a.size()); }
  Index m() const { return a.front().rows; }
  Index n() const { return b.front().cols; }
  Index k() const { return a.front().cols; }
  Index elements() const { return batch() * m() * n(); }
};

// One result. `values` holds batch x m x n elements, row-major.
template <class T>
struct Side {
  std::string name{};
  std::vector<T> values{};
  Format format = Format::none;  // fp16 or bf16 when the result was stored so
  std::optional<Order> order{};  // known beforehand (the side is an order, a profile or was probed): searched only if its
                                 // replay is not the side
  std::string source{};          // how it is known, in words
  std::string profile{};         // "NAME" or "NAME(key=value)": try this profile only; "": all
};

enum class Verdict {
  equal,
  explained,      // both sides identified
  ambiguous,      // both sides reproduced, but several inequivalent orders do it for at least one
  unexplained,    // a side was not reproduced
  outside_bound,  // a side is further from the exact result than rounding can bring it
};
std::string_view name(Verdict verdict);

struct RegionReport {
  Range rows{}, cols{};
  std::string order{};                  // "": none
  std::vector<std::string> profiles{};  // those that predict it, with their keys
  Index elements = 0;
  Index tried = 0;       // orders that were evaluated
  Index candidates = 0;  // inequivalent ones that reproduce every element
  bool identified = false;
  std::vector<std::string> others{};  // some of the other candidates
  std::string probe{};                // inputs on which `order` and others.front() differ
};

struct SideReport {
  std::string name;
  std::string order;       // the whole, with regions; "" when nothing was reproduced
  bool explained = false;  // every element reproduced, every region identified
  Index reproduced = 0;
  bool outside = false;  // of the bound
  std::vector<RegionReport> regions;
  std::vector<std::string> notes;
};

struct Factor {
  std::string factor;  // input, op, tree, accumulator, epilogue
  std::string from, to;
  Index changed = 0;  // elements whose bits change at this step
};

// One element in both orders. Values in hex: "0x3f800000 (1)".
struct TraceReport {
  Index item = 0, row = 0, col = 0;
  std::string left_order, right_order;  // the plain orders of this element
  std::string left, right;              // its two values
  struct Step {
    std::string leaves, left, right;  // a sum over the same products on both sides
    bool differs = false;
  };
  std::vector<Step> steps;
  std::string text;  // the same as lines of text
};

struct Report {
  Verdict verdict = Verdict::equal;
  std::string dtype;
  Index batch = 1, m = 0, n = 0, k = 0, elements = 0, different = 0;
  std::optional<unsigned long long> max_ulp = 0;  // nullopt: a NaN or an infinity meets a number
  std::string where;                              // which elements differ
  std::array<SideReport, 2> sides;
  std::vector<Factor> factors;
  std::optional<TraceReport> trace;
  std::array<Index, 2> nearer{};  // elements on which that side is nearer to the exact result, of `judged`
  Index judged = 0;
  std::vector<std::string> advice;
};

struct Options {
  int threads = 1;                                     // for replaying; changes no result
  std::function<void(const std::string&)> progress{};  // told what is going on; may be empty
  // The element to trace: matrix of the batch, row, column; row -1: the first that differs, else (0, 0). Not given: the
  // first that differs, if one does.
  std::optional<std::array<Index, 3>> element{};
};

// Throws Error(invalid_argument) where sizes disagree.
template <class T>
Report explain(const Problem<T>& problem, const Side<T>& left, const Side<T>& right, const Options& options = {});

}  // namespace explain
}  // namespace gnu::visibility("default")]]samebits
