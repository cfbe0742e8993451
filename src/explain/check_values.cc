// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "explain/check_suite.h"
#include "explain/witness.h"
#include "samebits/probe.h"

namespace samebits::explain {
namespace {

template <class T>
Outcome beta_zero(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  auto x = suite.random_call(suite.call(s));
  x.run();  // C is NaN before the call
  for (Index i = 0; i < s.m; ++i)
    for (Index j = 0; j < s.n; ++j)
      if (std::isnan(x.c(i, j)))
        return Failure{fmt::format("{}: beta = 0 and NaN in C give NaN at ({}, {}): C is read", text<T>(s), i, j)};
  return {};
}

template <class T>
Outcome scalars(Suite<T>& suite, const Shape& s) {
  auto x = suite.random_call(suite.call(s));
  x.run();
  const auto plain = x.result();
  struct Case {
    T alpha, beta;
    bool nan_in_a;
    const char* what;
    T (*want)(T t, T c);
  };
  const Case cases[] = {{-1, 0, false, "alpha = -1: not the negated product", [](T t, T) { return -t; }},
                        {2, 0, false, "alpha = 2: not twice the product", [](T t, T) { return 2 * t; }},
                        {0, 0, false, "alpha = 0, beta = 0: not zero", [](T, T) { return T(0); }},
                        {0, 1, false, "alpha = 0, beta = 1: C changed", [](T, T c) { return c; }},
                        {0, -2, true, "alpha = 0 with NaN in A: not beta*C, A is read", [](T, T c) { return -2 * c; }},
                        {1, 1, false, "alpha = 1, beta = 1 and C = 0: not the product", nullptr}};
  for (const auto& test : cases) {
    suite.fill(x, s);
    if (test.nan_in_a)
      for (Index i = 0; i < s.m; ++i) x.a(i, i % s.k) = std::numeric_limits<T>::quiet_NaN();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j) x.c(i, j) = test.want == nullptr ? T(0) : sample<T>(suite.options.seed + 2, i, j);
    try {
      x.run(test.alpha, test.beta);
    } catch (const Error& e) {
      if (e.code() == Code::unsupported) throw NotApplicable{e.what()};
      throw;
    }
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j) {
        const T t = plain[static_cast<std::size_t>(i * s.n + j)];
        // A zero may have either sign where the formula multiplies it.
        const T want = test.want == nullptr ? t : test.want(t, sample<T>(suite.options.seed + 2, i, j));
        // The order of a scaled product may be another; then only powers of two are exact, which these are.
        if (!same_bits(x.c(i, j), want) && !(x.c(i, j) == 0 && want == 0))
          return Failure{
              fmt::format("{}: {}; ({}, {}) is {}, expected {}", text<T>(s), test.what, i, j, hex(x.c(i, j)), hex(want))};
      }
  }
  return {};
}

// NaN and Inf reach the elements that they belong to, and no others.
template <class T>
Outcome specials(Suite<T>& suite, const Shape& s) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const T special : {nan, inf, -inf}) {
    auto x = suite.random_call(suite.call(s));
    const Index row = s.m / 2, k = s.k - 1;
    x.a(row, k) = special;
    x.run();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j) {
        const T c = x.c(i, j);
        const T sign = x.b(k, j) < 0 ? T(-1) : T(1);
        const bool right = i != row ? std::isfinite(c) : std::isnan(special) ? std::isnan(c) : c == sign * special;
        if (!right)
          return Failure{fmt::format("{}: {} at A({}, {}) gives {} at ({}, {})", text<T>(s), static_cast<double>(special),
                                     row, k, hex(c), i, j)};
      }
  }
  return {};
}

// 0 * Inf and 0 * NaN are NaN: an implementation that skips zeros by value loses them.
template <class T>
Outcome zero_times_inf(Suite<T>& suite, const Shape& s) {
  for (const bool in_a : {true, false}) {
    auto x = suite.random_call(suite.call(s));
    const Index k = s.k / 2;
    for (Index i = 0; i < s.m; ++i) x.a(i, k) = in_a ? T(0) : std::numeric_limits<T>::infinity();
    for (Index j = 0; j < s.n; ++j) x.b(k, j) = in_a ? std::numeric_limits<T>::infinity() : T(0);
    x.run();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j)
        if (!std::isnan(x.c(i, j)))
          return Failure{fmt::format(
              "{}: 0 in {} times Inf in {} at k = {} gives {} at ({}, {}), expected NaN: zeros are skipped by value",
              text<T>(s), in_a ? "A" : "B", in_a ? "B" : "A", k, hex(x.c(i, j)), i, j)};
  }
  return {};
}

template <class T>
Outcome zeros(Suite<T>& suite, const Shape& s) {
  Caller<T> x(suite.backend, suite.call(s));
  x.fill_a(T(-0.0));
  x.fill_b(T(1));
  x.run();
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.m * s.n); ++i)
    if (x.result_at(i) != 0 || std::signbit(x.result_at(i)) != std::signbit(x.result_at(0)))
      return Failure{fmt::format("{}: sums of -0 give {} at element 0 and {} at element {}", text<T>(s), hex(x.result_at(0)),
                                 hex(x.result_at(i)), i)};
  return {};
}

template <class T>
Outcome subnormals(Suite<T>& suite, const Shape& s) {
  const T tiny = std::numeric_limits<T>::min();
  Caller<T> x(suite.backend, suite.call(s));
  // Inputs, then results: 1.5 * tiny - tiny.
  for (const bool results : {false, true}) {
    if (results && s.k < 2) continue;
    x.fill_a(T(0));
    x.fill_b(T(1));
    for (Index i = 0; i < s.m; ++i) {
      x.a(i, 0) = results ? tiny + tiny / 2 : tiny / 2;
      if (results) x.a(i, s.k - 1) = -tiny;
    }
    x.run();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j)
        if (x.c(i, j) != tiny / 2)
          return Failure{fmt::format("{}: a subnormal {} becomes {} at ({}, {})", text<T>(s), results ? "result" : "input",
                                     hex(x.c(i, j)), i, j)};
  }
  return {};
}

// Sums that are exact in any order: a product that is dropped, doubled or paired wrongly shows.
template <class T>
Outcome counts(Suite<T>& suite, const Shape& s) {
  Caller<T> x(suite.backend, suite.call(s));
  for (const bool ones : {true, false}) {
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = ones ? T(1) : static_cast<T>((i * 7 + k * 3) % 13 - 6);
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) x.b(k, j) = ones ? T(1) : static_cast<T>((j * 5 + k * 11) % 17 - 8);
    x.run();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j) {
        std::int64_t want = 0;
        for (Index k = 0; k < s.k; ++k) want += static_cast<std::int64_t>(x.a(i, k)) * static_cast<std::int64_t>(x.b(k, j));
        if (x.c(i, j) != static_cast<T>(want))
          return Failure{fmt::format("{}: {} give {:g} at ({}, {}), expected {}{}", text<T>(s),
                                     ones ? "all-ones" : "small integers", static_cast<double>(x.c(i, j)), i, j, want,
                                     ones && x.c(i, j) < static_cast<T>(want) ? ": products are dropped" : "")};
      }
  }
  return {};
}

template <class T>
Outcome writes(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  const Index ldc = s.n + 5, border = 4 * ldc + 64;
  const T canary = std::ldexp(T(-1.2345), 40);
  std::vector<T> a, b, c(static_cast<std::size_t>(s.m * ldc + 2 * border), canary);
  for (Index i = 0; i < s.m; ++i)
    for (Index k = 0; k < s.k; ++k) a.push_back(sample<T>(suite.options.seed, i, k));
  for (Index k = 0; k < s.k; ++k)
    for (Index j = 0; j < s.n; ++j) b.push_back(sample<T>(suite.options.seed + 1, k, j));
  const auto a_before = a, b_before = b;
  BackendCall<T> x;
  x.m = s.m, x.n = s.n, x.k = s.k, x.a = a.data(), x.lda = s.k, x.b = b.data(), x.ldb = s.n;
  x.c = c.data() + border, x.ldc = ldc, x.threads = suite.options.threads[0];
  suite.backend.multiply(x);
  for (Index at = -border; at < s.m * ldc + border; ++at) {
    const bool inside = at >= 0 && at < s.m * ldc && at % ldc < s.n;
    if (!inside && !same_bits(x.c[at], canary)) {
      const Index row = at >= 0 ? at / ldc : -1;
      return Failure{
          fmt::format("{}, leading dimension of C {}: writes outside C, at {} elements from its start (row {}, column {})",
                      text<T>(s), ldc, at, row, at - row * ldc)};
    }
  }
  if (a != a_before || b != b_before) return Failure{fmt::format("{}: an input is changed", text<T>(s))};
  return {};
}

// What the backend was probed to compute in: a TF32 backend is held to the bound of TF32.
template <class T>
Precision precision(Suite<T>& suite) {
  if (suite.precision) return *suite.precision;
  if (sizeof(T) == 8) return *(suite.precision = Precision::f64);
  Caller<T> x(suite.backend, suite.call({6, 3, 3}));
  const auto seen = witness(x);
  static constexpr Precision precisions[] = {Precision::f32, Precision::tf32, Precision::bf16, Precision::fp16};
  return *(suite.precision =
               precisions[static_cast<std::size_t>(seen.input.format != Format::none ? seen.input.format : seen.out)]);
}

template <class T>
Outcome bound(Suite<T>& suite, const Shape& s) {
  auto x = suite.random_call(suite.call(s));
  x.run();
  std::vector<T> a, b;
  for (Index i = 0; i < s.m; ++i)
    for (Index k = 0; k < s.k; ++k) a.push_back(x.a(i, k));
  for (Index k = 0; k < s.k; ++k)
    for (Index j = 0; j < s.n; ++j) b.push_back(x.b(k, j));
  const auto c = x.result();
  const auto report = check_bound<T>(precision(suite), row_major<const T>(a.data(), s.m, s.k),
                                     row_major<const T>(b.data(), s.k, s.n), row_major<const T>(c.data(), s.m, s.n));
  if (report.inside()) {
    suite.note = std::string("precision ") + name(precision(suite));
    return {};
  }
  return Failure{fmt::format("{}: {} of {} elements are outside the bound of {}; the worst, ({}, {}), by a factor of {:.3g}",
                             text<T>(s), report.outside, report.elements, name(precision(suite)), report.worst_row,
                             report.worst_col, report.worst_ratio)};
}

// The order is a fixed tree of rounded adds, which probe can name.
template <class T>
Outcome order(Suite<T>& suite, const Shape& s) {
  ProbeOptions options;
  options.epilogue = false;
  options.max_calls = suite.options.quick ? 2000 : 20000;
  const auto result = probe(suite.backend, suite.call(s), options);
  if (result.ok()) {
    suite.note = result.order.text();
    if (suite.note.size() > 160)
      suite.note =
          fmt::format("{} orders by region, the most common {}", result.regions.size(), result.regions[0].order.text());
    return {};
  }
  std::string why;
  for (const auto& n : result.notes) why += (why.empty() ? "" : "; ") + n;
  return Failure{fmt::format("{}: {} of {} elements reproduced by a fixed order; {}", text<T>(s), result.reproduced,
                             result.elements, why)};
}

}  // namespace

template <class T>
std::vector<Clause<T>> value_clauses() {
  return {
      {"beta-zero", "beta = 0 does not read C", beta_zero<T>, false},
      {"scalars", "alpha and beta of 0, 1, -1 and 2 do exactly what they say", scalars<T>, false},
      {"specials", "NaN and Inf reach their elements and no others", specials<T>, false},
      {"zero-times-inf", "0 * Inf is NaN: no zero is skipped by its value", zero_times_inf<T>, false},
      {"zeros", "sums of -0 have one sign everywhere", zeros<T>, false},
      {"subnormals", "subnormal inputs and results are kept", subnormals<T>, false},
      {"counts", "every product is counted exactly once", counts<T>, true},
      {"writes", "nothing outside C is written, no input is changed", writes<T>, false},
      {"bound", "errors stay within the bound of the precision", bound<T>, true},
      {"order", "the order is a fixed tree of rounded adds", order<T>, false, false},
  };
}

template std::vector<Clause<float>> value_clauses();
template std::vector<Clause<double>> value_clauses();

}  // namespace samebits::explain
