// SPDX-License-Identifier: Apache-2.0
#include "samebits/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "explain/check_suite.h"
#include "samebits/probe.h"

namespace samebits {
namespace explain {
namespace {

template <class T>
std::vector<Clause<T>> all_clauses() {
  auto list = equality_clauses<T>();
  for (const auto& more : {value_clauses<T>(), environment_clauses<T>()}) list.insert(list.end(), more.begin(), more.end());
  return list;
}

// Smaller shapes that still fail, as long as some are found.
template <class T>
Failure shrink(Suite<T>& suite, const Clause<T>& clause, Shape s, Failure failure) {
  for (int tries = 0; tries < (suite.options.quick ? 12 : 150);) {
    bool smaller = false;
    for (Index Shape::*dim : {&Shape::m, &Shape::n, &Shape::k})
      for (const Index to : {s.*dim / 2, s.*dim - s.*dim / 4, s.*dim - 2, s.*dim - 1}) {
        if (to < 1 || to >= s.*dim) continue;
        Shape t = s;
        t.*dim = to;
        ++tries;
        try {
          if (auto f = clause.run(suite, t)) {
            s = t;
            failure = std::move(*f);
            smaller = true;
            break;
          }
        } catch (const std::exception&) {  // that shape does not work at all: keep the one at hand
        } catch (const NotApplicable&) {
        }
      }
    if (!smaller) break;
  }
  return failure;
}

// The orders of the two sides of a counterexample.
template <class T>
void name_orders(Suite<T>& suite, const Failure& f, ClauseResult* result) {
  if (!f.left || !f.right || suite.options.quick) return;
  const auto order_of = [&](Backend& backend, const ProbeCall& p, Index i, Index j) -> std::string {
    if (p.m * p.n * p.k > 4000000) return {};
    ProbeOptions options;
    options.epilogue = false;
    options.max_calls = 20000;
    const auto r = probe(backend, p, options);
    return r.ok() ? r.order.at(i, j).text() : std::string();
  };
  try {
    result->left = order_of(suite.backend, *f.left, f.i, f.j);
    const auto other = f.right_is_other ? open_backend(suite.options.other) : nullptr;
    result->right = order_of(other ? *other : suite.backend, *f.right, f.i2, f.j2);
  } catch (const Error&) {  // an explanation is a courtesy
  }
  if (result->left.empty() || result->right.empty()) result->left = result->right = "";
}

// Odd sizes, edges of register tiles, K past the usual blocks, and what makes libraries start threads.
constexpr Shape small_shapes[] = {{6, 7, 5}, {3, 7, 37}, {17, 33, 65}, {13, 5, 130}, {5, 49, 1}, {1, 9, 23}, {9, 1, 23}};
constexpr Shape large_shapes[] = {{33, 31, 700}, {64, 64, 500},  {100, 100, 333}, {2, 40, 2000},
                                  {2, 2, 40000}, {16, 16, 4000}, {1, 90, 457},    {90, 1, 457}};
constexpr Shape quick_shapes[] = {{6, 7, 5}, {5, 9, 67}};

template <class T>
void run_clause(Suite<T>& suite, const Clause<T>& clause, ClauseResult* result) {
  std::vector<Shape> shapes;
  if (suite.options.quick) {
    shapes.assign(std::begin(quick_shapes), std::end(quick_shapes));
  } else {
    shapes.assign(std::begin(small_shapes), std::end(small_shapes));
    if (clause.large) shapes.insert(shapes.end(), std::begin(large_shapes), std::end(large_shapes));
  }
  // Sums of a few products look alike whatever their order: long ones first where the first failure is the one that is told.
  if (!clause.shrink) std::stable_partition(shapes.begin(), shapes.end(), [](const Shape& s) { return s.k >= 30; });
  suite.note.clear();
  for (const auto& s : shapes) {
    Outcome found;
    try {
      found = clause.run(suite, s);
    } catch (const NotApplicable& n) {
      if (result->verdict != ClauseResult::Verdict::fails) {
        result->verdict = ClauseResult::Verdict::not_applicable;
        result->detail = n.why;
      }
      return;
    } catch (const Error& e) {
      result->verdict = ClauseResult::Verdict::fails;
      result->detail = e.what();
      return;
    }
    if (!found) continue;
    const auto smallest = clause.shrink ? shrink(suite, clause, s, std::move(*found)) : std::move(*found);
    result->verdict = ClauseResult::Verdict::fails;
    result->detail = smallest.what;
    name_orders(suite, smallest, result);
    return;
  }
  if (result->detail.empty()) result->detail = suite.note;
}

}  // namespace
}  // namespace explain

std::vector<ClauseInfo> clauses() {
  std::vector<ClauseInfo> list;
  for (const auto& entry : explain::all_clauses<float>()) list.push_back({entry.id, entry.text});
  return list;
}

CheckReport check(Backend& backend, const CheckOptions& options) {
  if (options.threads.empty() || *std::min_element(options.threads.begin(), options.threads.end()) < 1)
    throw Error(Code::invalid_argument, "check: thread counts must be at least 1, and at least one must be given");
  if (!options.other.empty()) open_backend(options.other);  // a wrong name is no broken promise
  const auto known = clauses();
  const auto lists = [](const std::vector<std::string>& ids, const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (const auto* ids : {&options.only, &options.except})
    for (const auto& id : *ids)
      if (std::none_of(known.begin(), known.end(), [&](const ClauseInfo& c) { return c.id == id; })) {
        std::string names;
        for (const auto& c : known) names += (names.empty() ? "" : ", ") + c.id;
        throw Error(Code::invalid_argument, fmt::format("no clause is called \"{}\"; there are {}", id, names));
      }
  CheckReport report{backend.name(), backend.description(), {}};
  explain::Suite<float> f32{backend, options};
  explain::Suite<double> f64{backend, options};
  const auto f32_clauses = explain::all_clauses<float>();
  const auto f64_clauses = explain::all_clauses<double>();
  // What cannot multiply at all breaks no promise: its error is the answer.
  for (const auto dtype : options.dtypes)
    if (backend.supports(dtype))
      dtype == DType::f32 ? f32.random_call(f32.call({3, 4, 5})).run() : f64.random_call(f64.call({3, 4, 5})).run();
  for (std::size_t i = 0; i < known.size(); ++i) {
    if ((!options.only.empty() && !lists(options.only, known[i].id)) || lists(options.except, known[i].id)) continue;
    if (options.progress) options.progress(known[i].id);
    ClauseResult result{known[i].id, known[i].text, ClauseResult::Verdict::holds, {}, {}, {}, 0};
    const auto start = std::chrono::steady_clock::now();
    bool any = false;
    for (const auto dtype : options.dtypes) {
      if (!backend.supports(dtype) || result.verdict == ClauseResult::Verdict::fails) continue;
      any = true;
      if (dtype == DType::f32)
        explain::run_clause(f32, f32_clauses[i], &result);
      else
        explain::run_clause(f64, f64_clauses[i], &result);
    }
    if (!any) result.verdict = ClauseResult::Verdict::not_applicable, result.detail = "the backend has none of the types";
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.results.push_back(std::move(result));
  }
  return report;
}

}  // namespace samebits
