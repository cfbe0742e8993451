// SPDX-License-Identifier: Apache-2.0
// What the clauses of the determinism suite share. A clause is a function that tries one shape.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "explain/bound.h"
#include "explain/caller.h"
#include "explain/compare.h"
#include "samebits/check.h"

namespace samebits::explain {

struct Shape {
  Index m, n, k;
};

// A counterexample; `left` and `right` are the calls whose elements (i, j) and (i2, j2) should have been equal.
struct Failure {
  std::string what;
  std::optional<ProbeCall> left = {}, right = {};
  Index i = 0, j = 0, i2 = 0, j2 = 0;
  bool right_is_other = false;  // made by CheckOptions::other
};
using Outcome = std::optional<Failure>;

// The clause has nothing to say about this backend.
struct NotApplicable {
  std::string why;
};

// N(0,1)-like, decided by the position alone: row 3 has the same values in every matrix.
template <class T>
inline T sample(std::uint64_t seed, Index i, Index j) {
  const auto mix = [](std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  const auto h = mix(seed ^ mix(static_cast<std::uint64_t>(i) * 0x100000001b3u + static_cast<std::uint64_t>(j)));
  const auto unit = [](std::uint64_t x) { return (static_cast<double>(x >> 11) + 0.5) * 0x1p-53; };
  return static_cast<T>(std::sqrt(-2 * std::log(unit(h))) * std::cos(6.283185307179586 * unit(mix(h))));
}

// A backend under test in one element type.
template <class T>
struct Suite {
  Backend& backend;
  const CheckOptions& options;
  std::optional<Precision> precision = {};  // that it was probed to compute in
  std::string note = {};                    // about a clause that holds

  ProbeCall call(const Shape& s) const {
    ProbeCall p;
    p.dtype = dtype_of<T>;
    p.m = s.m, p.n = s.n, p.k = s.k;
    p.threads = options.threads[0];
    return p;
  }
  void fill(Caller<T>& x, const Shape& s) const {
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(options.seed, i, k);
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) x.b(k, j) = sample<T>(options.seed + 1, k, j);
  }
  Caller<T> random_call(const ProbeCall& p) const {
    Caller<T> x(backend, p);
    fill(x, {p.m, p.n, p.k});
    return x;
  }
};

// Of what a program cannot break: it has memory, threads and an environment of its own.
template <class T>
void require_in_place(const Suite<T>& suite) {
  if (!suite.backend.in_place()) throw NotApplicable{"it works on copies, in a process of its own"};
}

template <class T>
std::string text(const Shape& s) {
  return fmt::format("{} {} x {} x {}", sizeof(T) == 4 ? "float32" : "float64", s.m, s.n, s.k);
}

// The first element that differs from `want`, if any, between two calls with these names.
template <class T>
Outcome differ(const Shape& s, const std::vector<T>& want, const Caller<T>& x, std::optional<ProbeCall> left,
               std::optional<ProbeCall> right, const std::string& left_name, const std::string& right_name) {
  Index different = 0;
  std::size_t first = 0;
  for (std::size_t i = want.size(); i-- > 0;)
    if (!same_bits(want[i], x.result_at(i))) ++different, first = i;
  if (different == 0) return {};
  const Index i = static_cast<Index>(first) / s.n, j = static_cast<Index>(first) % s.n;
  auto what = fmt::format("{}: {} of {} elements differ between {} and {}; ({}, {}) is {} and {}", text<T>(s), different,
                          want.size(), left_name, right_name, i, j, hex(want[first]), hex(x.result_at(first)));
  return Failure{std::move(what), std::move(left), std::move(right), i, j, i, j};
}

template <class T>
struct Clause {
  const char* id;
  const char* text;
  Outcome (*run)(Suite<T>&, const Shape&);
  bool large;          // worth its time at large shapes, too
  bool shrink = true;  // a counterexample says as much when it is small
};

// Calls that must give the same bits.
template <class T>
std::vector<Clause<T>> equality_clauses();
// Results that must be right, and have an order.
template <class T>
std::vector<Clause<T>> value_clauses();
// The caller's floating-point environment, instruction sets, other backends.
template <class T>
std::vector<Clause<T>> environment_clauses();

extern template std::vector<Clause<float>> equality_clauses();
extern template std::vector<Clause<double>> equality_clauses();
extern template std::vector<Clause<float>> value_clauses();
extern template std::vector<Clause<double>> value_clauses();
extern template std::vector<Clause<float>> environment_clauses();
extern template std::vector<Clause<double>> environment_clauses();

}  // namespace samebits::explain
