// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "explain/check_suite.h"

namespace samebits::explain {
namespace {

std::string threads_text(int n) {
  return fmt::format("{} thread{}", n, n == 1 ? "" : "s");
}

// Calls that `next` makes from the plain one: it changes the call, says how, and returns false when there are no more.
template <class T, class Next>
Outcome variants(Suite<T>& suite, const Shape& s, const std::string& base_name, Next next) {
  auto base = suite.random_call(suite.call(s));
  base.run();
  const auto want = base.result();
  for (int v = 0;; ++v) {
    auto p = suite.call(s);
    std::string what;
    if (!next(p, v, what) || (suite.options.quick && v > 2)) return {};
    auto x = suite.random_call(p);
    x.run();
    if (auto f = differ(s, want, x, suite.call(s), p, base_name, what)) return f;
  }
}

// The last rows (columns) of a product, so that their place differs as well, against the same among all.
template <class T>
Outcome batch(Suite<T>& suite, const Shape& s, const std::vector<Index>& sizes, bool rows) {
  auto base = suite.random_call(suite.call(s));
  base.run();
  const Index whole = rows ? s.m : s.n;
  for (const Index size : sizes) {
    if (size < 1 || size >= whole || (size == 1) != (sizes.size() == 1)) continue;
    Shape part = s;
    (rows ? part.m : part.n) = size;
    const Index skip = whole - size;
    Caller<T> x(suite.backend, suite.call(part));
    for (Index i = 0; i < part.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(suite.options.seed, i + (rows ? skip : 0), k);
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < part.n; ++j) x.b(k, j) = sample<T>(suite.options.seed + 1, k, j + (rows ? 0 : skip));
    x.run();
    for (Index i = 0; i < part.m; ++i)
      for (Index j = 0; j < part.n; ++j) {
        const Index i0 = i + (rows ? skip : 0), j0 = j + (rows ? 0 : skip);
        if (same_bits(base.c(i0, j0), x.c(i, j))) continue;
        const auto which = size == 1 ? fmt::format("{} {}", rows ? "row" : "column", skip)
                                     : fmt::format("{} {}:{}", rows ? "rows" : "columns", skip, whole);
        auto what = fmt::format("{}: {} multiplied alone: ({}, {}) is {} in the whole product and {} alone", text<T>(s),
                                which, i0, j0, hex(base.c(i0, j0)), hex(x.c(i, j)));
        return Failure{std::move(what), suite.call(s), suite.call(part), i0, j0, i, j};
      }
  }
  return {};
}

template <class T>
Outcome run_to_run(Suite<T>& suite, const Shape& s) {
  auto x = suite.random_call(suite.call(s));
  x.run();
  const auto first = x.result();
  for (int times = 0; times < (suite.options.quick ? 2 : 6); ++times) {
    x.run();
    if (auto f = differ(s, first, x, suite.call(s), suite.call(s), "the first run", "a later one")) {
      f->left.reset();
      return f;
    }
  }
  return {};
}

template <class T>
Outcome threads(Suite<T>& suite, const Shape& s) {
  if (suite.options.threads.size() < 2) throw NotApplicable{"one thread count only"};
  if (!suite.backend.sets_threads()) throw NotApplicable{"the number of threads cannot be set"};
  auto base = suite.random_call(suite.call(s));
  base.run();
  for (std::size_t t = 1; t < suite.options.threads.size(); ++t) {
    auto p = suite.call(s);
    p.threads = suite.options.threads[t];
    auto x = suite.random_call(p);
    x.run();
    if (auto f =
            differ(s, base.result(), x, suite.call(s), p, threads_text(suite.options.threads[0]), threads_text(p.threads)))
      return f;
  }
  return {};
}

// Rows (columns) of a product alone, and among fewer others.
template <class T>
Outcome m_batch(Suite<T>& suite, const Shape& s) {
  return batch(suite, s, {s.m - 1, (s.m + 1) / 2, 2}, true);
}
template <class T>
Outcome n_batch(Suite<T>& suite, const Shape& s) {
  return batch(suite, s, {s.n - 1, (s.n + 1) / 2, 2}, false);
}
template <class T>
Outcome m_one(Suite<T>& suite, const Shape& s) {
  return batch(suite, s, {1}, true);
}
template <class T>
Outcome n_one(Suite<T>& suite, const Shape& s) {
  return batch(suite, s, {1}, false);
}

template <class T>
Outcome position(Suite<T>& suite, const Shape& s) {
  Caller<T> x(suite.backend, suite.call(s));
  suite.fill(x, s);
  for (Index i = 0; i < s.m; ++i)
    for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(suite.options.seed, 0, k);
  for (Index k = 0; k < s.k; ++k)
    for (Index j = 0; j < s.n; ++j) x.b(k, j) = sample<T>(suite.options.seed + 1, k, 0);
  x.run();
  for (Index i = 0; i < s.m; ++i)
    for (Index j = 0; j < s.n; ++j)
      if (!same_bits(x.c(i, j), x.c(0, 0)))
        return Failure{fmt::format("{}: equal rows of A and columns of B give {} at (0, 0) and {} at ({}, {})", text<T>(s),
                                   hex(x.c(0, 0)), hex(x.c(i, j)), i, j),
                       suite.call(s),
                       suite.call(s),
                       0,
                       0,
                       i,
                       j};
  return {};
}

template <class T>
Outcome leading_dimension(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  return variants(suite, s, "dense rows", [](ProbeCall& p, int v, std::string& what) {
    const Index gaps[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {3, 5, 7}, {64, 64, 64}};
    if (v >= 5) return false;
    p.a_gap = gaps[v][0], p.b_gap = gaps[v][1], p.c_gap = gaps[v][2];
    what = fmt::format("leading dimensions {}, {}, {} more", p.a_gap, p.b_gap, p.c_gap);
    return true;
  });
}

template <class T>
Outcome alignment(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  return variants(suite, s, "addresses at multiples of 64", [](ProbeCall& p, int v, std::string& what) {
    constexpr int steps = 64 / sizeof(T) - 1;
    if (v >= 3 * steps) return false;
    const auto offset = static_cast<unsigned>((v % steps + 1) * static_cast<int>(sizeof(T)));
    (v / steps == 0 ? p.a_offset : v / steps == 1 ? p.b_offset : p.c_offset) = offset;
    what = fmt::format("{} at {} bytes past one", "ABC"[v / steps], offset);
    return true;
  });
}

template <class T>
Outcome layout(Suite<T>& suite, const Shape& s) {
  return variants(suite, s, "row-major A and B", [](ProbeCall& p, int v, std::string& what) {
    if (v >= 3) return false;
    p.trans_a = v != 1, p.trans_b = v != 0;
    what = v == 0 ? "A stored transposed" : v == 1 ? "B stored transposed" : "A and B stored transposed";
    return true;
  });
}

template <class T>
Outcome constant_b(Suite<T>& suite, const Shape& s) {
  if (!suite.backend.packs_constants()) throw NotApplicable{"a constant B is as any other to this backend"};
  return variants(suite, s, "B an input", [](ProbeCall& p, int v, std::string& what) {
    p.constant_b = true;
    what = "B a constant";
    return v == 0;
  });
}

template <class T>
Outcome concurrent(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  auto base = suite.random_call(suite.call(s));
  base.run();
  const auto want = base.result();
  std::vector<Outcome> found(4);
  std::vector<std::exception_ptr> errors(4);
  std::vector<std::thread> callers;
  for (std::size_t t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      try {
        auto x = suite.random_call(suite.call(s));
        for (int times = 0; times < (suite.options.quick ? 1 : 8) && !found[t]; ++times) {
          x.run();
          found[t] = differ(s, want, x, suite.call(s), suite.call(s), "one caller", "four callers at once");
        }
      } catch (...) {
        errors[t] = std::current_exception();
      }
    });
  for (auto& c : callers) c.join();
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
  for (auto& f : found)
    if (f) {
      f->left.reset();
      return f;
    }
  return {};
}

}  // namespace

template <class T>
std::vector<Clause<T>> equality_clauses() {
  return {
      {"run-to-run", "the same call gives the same bits every time", run_to_run<T>, true},
      {"threads", "the thread count changes no bit", threads<T>, true},
      {"m-batch", "a row's bits do not depend on the other rows", m_batch<T>, true},
      {"m-one", "a row multiplied alone (M = 1) has the bits it has among others", m_one<T>, true},
      {"n-batch", "a column's bits do not depend on the other columns", n_batch<T>, true},
      {"n-one", "a column multiplied alone (N = 1) has the bits it has among others", n_one<T>, true},
      {"position", "equal rows and columns give equal bits wherever they stand", position<T>, true},
      {"leading-dimension", "leading dimensions change no bit", leading_dimension<T>, false},
      {"alignment", "addresses change no bit", alignment<T>, false},
      {"layout", "the storage order of A and B changes no bit", layout<T>, true},
      {"constant-b", "a constant (prepacked) B gives the bits of an input B", constant_b<T>, true},
      {"concurrent", "concurrent callers get the bits of a single one", concurrent<T>, false},
  };
}

template std::vector<Clause<float>> equality_clauses();
template std::vector<Clause<double>> equality_clauses();

}  // namespace samebits::explain
