// SPDX-License-Identifier: Apache-2.0
#include "samebits/check.h"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "explain/bound.h"
#include "explain/caller.h"
#include "explain/compare.h"
#include "samebits/gemm.h"
#include "samebits/probe.h"

namespace samebits {
namespace explain {
namespace {

struct Shape {
  Index m, n, k;
};

// A counterexample; `left` and `right` are the calls whose elements (i, j) and (i2, j2) should have been equal.
struct Failure {
  std::string what;
  std::optional<ProbeCall> left = {}, right = {};
  Index i = 0, j = 0, i2 = 0, j2 = 0;
};
using Outcome = std::optional<Failure>;

// The clause has nothing to say about this backend.
struct NotApplicable {
  std::string why;
};

// N(0,1)-like, decided by the position alone: row 3 has the same values in every matrix.
template <class T>
T sample(std::uint64_t seed, Index i, Index j) {
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

template <class T>
class Suite {
 public:
  Suite(Backend& backend, const CheckOptions& options) : backend_(backend), options_(options) {}

  using Clause = Outcome (Suite::*)(const Shape&);

  Outcome run_to_run(const Shape& s) {
    auto x = random_call(call(s));
    x.run();
    const auto first = x.result();
    for (int times = 0; times < (options_.quick ? 2 : 6); ++times) {
      x.run();
      if (auto f = differ(s, first, x, call(s), call(s), "the first run", "a later one")) {
        f->left.reset();
        return f;
      }
    }
    return {};
  }

  Outcome threads(const Shape& s) {
    if (options_.threads.size() < 2) throw NotApplicable{"one thread count only"};
    auto base = random_call(call(s));
    base.run();
    for (std::size_t t = 1; t < options_.threads.size(); ++t) {
      auto p = call(s);
      p.threads = options_.threads[t];
      auto x = random_call(p);
      x.run();
      if (auto f = differ(s, base.result(), x, call(s), p, threads_text(options_.threads[0]), threads_text(p.threads)))
        return f;
    }
    return {};
  }

  // Rows (columns) of a product alone, and among fewer others.
  Outcome m_batch(const Shape& s) { return batch(s, {s.m - 1, (s.m + 1) / 2, 2}, true); }
  Outcome n_batch(const Shape& s) { return batch(s, {s.n - 1, (s.n + 1) / 2, 2}, false); }
  Outcome m_one(const Shape& s) { return batch(s, {1}, true); }
  Outcome n_one(const Shape& s) { return batch(s, {1}, false); }

  Outcome position(const Shape& s) {
    Caller<T> x(backend_, call(s));
    fill(x, s);
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(options_.seed, 0, k);
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) x.b(k, j) = sample<T>(options_.seed + 1, k, 0);
    x.run();
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j)
        if (!same_bits(x.c(i, j), x.c(0, 0)))
          return Failure{fmt::format("{}: equal rows of A and columns of B give {} at (0, 0) and {} at ({}, {})", text(s),
                                     hex(x.c(0, 0)), hex(x.c(i, j)), i, j),
                         call(s),
                         call(s),
                         0,
                         0,
                         i,
                         j};
    return {};
  }

  Outcome leading_dimension(const Shape& s) {
    return variants(s, "dense rows", [](ProbeCall& p, int v, std::string& what) {
      const Index gaps[][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {3, 5, 7}, {64, 64, 64}};
      if (v >= 5) return false;
      p.a_gap = gaps[v][0], p.b_gap = gaps[v][1], p.c_gap = gaps[v][2];
      what = fmt::format("leading dimensions {}, {}, {} more", p.a_gap, p.b_gap, p.c_gap);
      return true;
    });
  }

  Outcome alignment(const Shape& s) {
    return variants(s, "addresses at multiples of 64", [](ProbeCall& p, int v, std::string& what) {
      constexpr int steps = 64 / sizeof(T) - 1;
      if (v >= 3 * steps) return false;
      const auto offset = static_cast<unsigned>((v % steps + 1) * static_cast<int>(sizeof(T)));
      (v / steps == 0 ? p.a_offset : v / steps == 1 ? p.b_offset : p.c_offset) = offset;
      what = fmt::format("{} at {} bytes past one", "ABC"[v / steps], offset);
      return true;
    });
  }

  Outcome layout(const Shape& s) {
    return variants(s, "row-major A and B", [](ProbeCall& p, int v, std::string& what) {
      if (v >= 3) return false;
      p.trans_a = v != 1, p.trans_b = v != 0;
      what = v == 0 ? "A stored transposed" : v == 1 ? "B stored transposed" : "A and B stored transposed";
      return true;
    });
  }

  Outcome constant_b(const Shape& s) {
    return variants(s, "B an input", [](ProbeCall& p, int v, std::string& what) {
      p.constant_b = true;
      what = "B a constant";
      return v == 0;
    });
  }

  Outcome concurrent(const Shape& s) {
    auto base = random_call(call(s));
    base.run();
    const auto want = base.result();
    std::vector<Outcome> found(4);
    std::vector<std::exception_ptr> errors(4);
    std::vector<std::thread> callers;
    for (std::size_t t = 0; t < 4; ++t)
      callers.emplace_back([&, t] {
        try {
          auto x = random_call(call(s));
          for (int times = 0; times < (options_.quick ? 1 : 8) && !found[t]; ++times) {
            x.run();
            found[t] = differ(s, want, x, call(s), call(s), "one caller", "four callers at once");
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

  Outcome beta_zero(const Shape& s) {
    auto x = random_call(call(s));
    x.run();  // C is NaN before the call
    for (Index i = 0; i < s.m; ++i)
      for (Index j = 0; j < s.n; ++j)
        if (std::isnan(x.c(i, j)))
          return Failure{fmt::format("{}: beta = 0 and NaN in C give NaN at ({}, {}): C is read", text(s), i, j)};
    return {};
  }

  Outcome scalars(const Shape& s) {
    auto x = random_call(call(s));
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
      fill(x, s);
      if (test.nan_in_a)
        for (Index i = 0; i < s.m; ++i) x.a(i, i % s.k) = std::numeric_limits<T>::quiet_NaN();
      for (Index i = 0; i < s.m; ++i)
        for (Index j = 0; j < s.n; ++j) x.c(i, j) = test.want == nullptr ? T(0) : sample<T>(options_.seed + 2, i, j);
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
          const T want = test.want == nullptr ? t : test.want(t, sample<T>(options_.seed + 2, i, j));
          // The order of a scaled product may be another; then only powers of two are exact, which these are.
          if (!same_bits(x.c(i, j), want) && !(x.c(i, j) == 0 && want == 0))
            return Failure{
                fmt::format("{}: {}; ({}, {}) is {}, expected {}", text(s), test.what, i, j, hex(x.c(i, j)), hex(want))};
        }
    }
    return {};
  }

  // NaN and Inf reach the elements that they belong to, and no others.
  Outcome specials(const Shape& s) {
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    for (const T special : {nan, inf, -inf}) {
      auto x = random_call(call(s));
      const Index row = s.m / 2, k = s.k - 1;
      x.a(row, k) = special;
      x.run();
      for (Index i = 0; i < s.m; ++i)
        for (Index j = 0; j < s.n; ++j) {
          const T c = x.c(i, j);
          const T sign = x.b(k, j) < 0 ? T(-1) : T(1);
          const bool right = i != row ? std::isfinite(c) : std::isnan(special) ? std::isnan(c) : c == sign * special;
          if (!right)
            return Failure{fmt::format("{}: {} at A({}, {}) gives {} at ({}, {})", text(s), static_cast<double>(special),
                                       row, k, hex(c), i, j)};
        }
    }
    return {};
  }

  // 0 * Inf and 0 * NaN are NaN: an implementation that skips zeros by value loses them.
  Outcome zero_times_inf(const Shape& s) {
    for (const bool in_a : {true, false}) {
      auto x = random_call(call(s));
      const Index k = s.k / 2;
      for (Index i = 0; i < s.m; ++i) x.a(i, k) = in_a ? T(0) : std::numeric_limits<T>::infinity();
      for (Index j = 0; j < s.n; ++j) x.b(k, j) = in_a ? std::numeric_limits<T>::infinity() : T(0);
      x.run();
      for (Index i = 0; i < s.m; ++i)
        for (Index j = 0; j < s.n; ++j)
          if (!std::isnan(x.c(i, j)))
            return Failure{fmt::format(
                "{}: 0 in {} times Inf in {} at k = {} gives {} at ({}, {}), expected NaN: zeros are skipped by value",
                text(s), in_a ? "A" : "B", in_a ? "B" : "A", k, hex(x.c(i, j)), i, j)};
    }
    return {};
  }

  Outcome zeros(const Shape& s) {
    Caller<T> x(backend_, call(s));
    x.fill_a(T(-0.0));
    x.fill_b(T(1));
    x.run();
    for (std::size_t i = 0; i < static_cast<std::size_t>(s.m * s.n); ++i)
      if (x.result_at(i) != 0 || std::signbit(x.result_at(i)) != std::signbit(x.result_at(0)))
        return Failure{fmt::format("{}: sums of -0 give {} at element 0 and {} at element {}", text(s), hex(x.result_at(0)),
                                   hex(x.result_at(i)), i)};
    return {};
  }

  Outcome subnormals(const Shape& s) {
    const T tiny = std::numeric_limits<T>::min();
    Caller<T> x(backend_, call(s));
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
            return Failure{fmt::format("{}: a subnormal {} becomes {} at ({}, {})", text(s), results ? "result" : "input",
                                       hex(x.c(i, j)), i, j)};
    }
    return {};
  }

  // Sums that are exact in any order: a product that is dropped, doubled or paired wrongly shows.
  Outcome counts(const Shape& s) {
    Caller<T> x(backend_, call(s));
    for (const bool ones : {true, false}) {
      for (Index i = 0; i < s.m; ++i)
        for (Index k = 0; k < s.k; ++k) x.a(i, k) = ones ? T(1) : static_cast<T>((i * 7 + k * 3) % 13 - 6);
      for (Index k = 0; k < s.k; ++k)
        for (Index j = 0; j < s.n; ++j) x.b(k, j) = ones ? T(1) : static_cast<T>((j * 5 + k * 11) % 17 - 8);
      x.run();
      for (Index i = 0; i < s.m; ++i)
        for (Index j = 0; j < s.n; ++j) {
          std::int64_t want = 0;
          for (Index k = 0; k < s.k; ++k)
            want += static_cast<std::int64_t>(x.a(i, k)) * static_cast<std::int64_t>(x.b(k, j));
          if (x.c(i, j) != static_cast<T>(want))
            return Failure{fmt::format("{}: {} give {:g} at ({}, {}), expected {}{}", text(s),
                                       ones ? "all-ones" : "small integers", static_cast<double>(x.c(i, j)), i, j, want,
                                       ones && x.c(i, j) < static_cast<T>(want) ? ": products are dropped" : "")};
        }
    }
    return {};
  }

  Outcome writes(const Shape& s) {
    const Index ldc = s.n + 5, border = 4 * ldc + 64;
    const T canary = std::ldexp(T(-1.2345), 40);
    std::vector<T> a, b, c(static_cast<std::size_t>(s.m * ldc + 2 * border), canary);
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) a.push_back(sample<T>(options_.seed, i, k));
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) b.push_back(sample<T>(options_.seed + 1, k, j));
    const auto a_before = a, b_before = b;
    BackendCall<T> x;
    x.m = s.m, x.n = s.n, x.k = s.k, x.a = a.data(), x.lda = s.k, x.b = b.data(), x.ldb = s.n;
    x.c = c.data() + border, x.ldc = ldc, x.threads = options_.threads[0];
    backend_.multiply(x);
    for (Index at = -border; at < s.m * ldc + border; ++at) {
      const bool inside = at >= 0 && at < s.m * ldc && at % ldc < s.n;
      if (!inside && !same_bits(x.c[at], canary)) {
        const Index row = at >= 0 ? at / ldc : -1;
        return Failure{
            fmt::format("{}, leading dimension of C {}: writes outside C, at {} elements from its start (row {}, column {})",
                        text(s), ldc, at, row, at - row * ldc)};
      }
    }
    if (a != a_before || b != b_before) return Failure{fmt::format("{}: an input is changed", text(s))};
    return {};
  }

  Outcome bound(const Shape& s) {
    auto x = random_call(call(s));
    x.run();
    std::vector<T> a, b;
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) a.push_back(x.a(i, k));
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) b.push_back(x.b(k, j));
    const auto c = x.result();
    const auto report = check_bound<T>(precision(), row_major<const T>(a.data(), s.m, s.k),
                                       row_major<const T>(b.data(), s.k, s.n), row_major<const T>(c.data(), s.m, s.n));
    if (report.inside()) return {};
    return Failure{fmt::format(
        "{}: {} of {} elements are outside the bound of {}; the worst, ({}, {}), by a factor of {:.3g}", text(s),
        report.outside, report.elements, name(precision()), report.worst_row, report.worst_col, report.worst_ratio)};
  }

  // The order is a fixed tree of rounded adds, which probe can name.
  Outcome order(const Shape& s) {
    ProbeOptions options;
    options.epilogue = false;
    options.max_calls = options_.quick ? 2000 : 20000;
    const auto result = probe(backend_, call(s), options);
    if (result.ok()) {
      note_ = result.order.text();
      if (note_.size() > 160)
        note_ =
            fmt::format("{} orders by region, the most common {}", result.regions.size(), result.regions[0].order.text());
      return {};
    }
    std::string why;
    for (const auto& n : result.notes) why += (why.empty() ? "" : "; ") + n;
    return Failure{fmt::format("{}: {} of {} elements reproduced by a fixed order; {}", text(s), result.reproduced,
                               result.elements, why)};
  }

  Outcome rounding_mode(const Shape& s) {
    auto x = random_call(call(s));
    x.run();
    const auto want = x.result();
    for (const auto& [mode, word] : {std::pair{FE_UPWARD, "upward"}, std::pair{FE_TOWARDZERO, "toward zero"}}) {
      const int before = std::fegetround();
      std::fesetround(mode);
      try {
        x.run();
      } catch (...) {
        std::fesetround(before);
        throw;
      }
      const int after = std::fegetround();
      std::fesetround(before);
      if (auto f = differ(s, want, x, call(s), call(s), "to nearest", std::string("the caller rounding ") + word)) {
        f->left.reset();
        return f;
      }
      if (after != mode) return Failure{fmt::format("{}: the caller's rounding mode is not restored", text(s))};
    }
    return {};
  }

  Outcome flush_to_zero(const Shape& s) {
#if defined(__x86_64__)
    auto x = random_call(call(s));
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = std::ldexp(x.a(i, k), sizeof(T) == 4 ? -130 : -1026);
    x.run();
    const auto want = x.result();
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
    try {
      x.run();
    } catch (...) {
      _mm_setcsr(before);
      throw;
    }
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    if (auto f = differ(s, want, x, call(s), call(s), "plain", "the caller flushing subnormals to zero")) {
      f->left.reset();
      return f;
    }
    if ((after & 0x8040) != 0x8040)
      return Failure{fmt::format("{}: the caller's flush-to-zero mode is not restored", text(s))};
    return {};
#else
    (void)s;
    throw NotApplicable{"x86-64 only"};
#endif
  }

  Outcome instruction_sets(const Shape& s) {
    if (backend_.name().rfind("samebits", 0) != 0) throw NotApplicable{"the instruction set cannot be chosen from outside"};
    auto base = random_call(call(s));
    base.run();
    auto name = backend_.name();
    if (name.find("isa=") != std::string::npos) throw NotApplicable{"one instruction set was asked for"};
    for (const auto& isa : isas()) {
      const auto other = open_backend(name == "samebits" ? fmt::format("samebits(isa={})", isa)
                                                         : fmt::format("{}, isa={})", name.substr(0, name.size() - 1), isa));
      Caller<T> x(*other, call(s));
      fill(x, s);
      x.run();
      if (auto f = differ(s, base.result(), x, call(s), call(s), "the default kernel", isa)) return f;
    }
    return {};
  }

  Outcome same_as(const Shape& s) {
    if (options_.other.empty()) throw NotApplicable{"no second backend was given"};
    const auto other = open_backend(options_.other);
    if (!other->supports(dtype_of<T>)) throw NotApplicable{options_.other + " does not have this type"};
    auto base = random_call(call(s));
    base.run();
    Caller<T> x(*other, call(s));
    fill(x, s);
    x.run();
    return differ(s, base.result(), x, call(s), std::nullopt, backend_.name(), options_.other);
  }

  // Smaller shapes that still fail, as long as some are found.
  Failure shrink(Clause clause, Shape s, Failure failure) {
    for (int tries = 0; tries < (options_.quick ? 12 : 150);) {
      bool smaller = false;
      for (Index Shape::*dim : {&Shape::m, &Shape::n, &Shape::k})
        for (const Index to : {s.*dim / 2, s.*dim - s.*dim / 4, s.*dim - 2, s.*dim - 1}) {
          if (to < 1 || to >= s.*dim) continue;
          Shape t = s;
          t.*dim = to;
          ++tries;
          try {
            if (auto f = (this->*clause)(t)) {
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
  void name_orders(const Failure& f, ClauseResult* result) {
    if (!f.left || !f.right || options_.quick) return;
    const auto order_of = [&](const ProbeCall& p, Index i, Index j) -> std::string {
      if (p.m * p.n * p.k > 4000000) return {};
      ProbeOptions options;
      options.epilogue = false;
      options.max_calls = 20000;
      const auto r = probe(backend_, p, options);
      return r.ok() ? r.order.at(i, j).text() : std::string();
    };
    try {
      result->left = order_of(*f.left, f.i, f.j);
      result->right = order_of(*f.right, f.i2, f.j2);
    } catch (const Error&) {  // an explanation is a courtesy
    }
    if (result->left.empty() || result->right.empty()) result->left = result->right = "";
  }

  std::string precision_name() {
    return name(precision());
  }
  std::string note() const {
    return note_;
  }

 private:
  ProbeCall call(const Shape& s) const {
    ProbeCall p;
    p.dtype = dtype_of<T>;
    p.m = s.m, p.n = s.n, p.k = s.k;
    p.threads = options_.threads[0];
    return p;
  }
  static std::string text(const Shape& s) {
    return fmt::format("{} {} x {} x {}", sizeof(T) == 4 ? "float32" : "float64", s.m, s.n, s.k);
  }
  static std::string threads_text(int n) {
    return fmt::format("{} thread{}", n, n == 1 ? "" : "s");
  }

  void fill(Caller<T>& x, const Shape& s) const {
    for (Index i = 0; i < s.m; ++i)
      for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(options_.seed, i, k);
    for (Index k = 0; k < s.k; ++k)
      for (Index j = 0; j < s.n; ++j) x.b(k, j) = sample<T>(options_.seed + 1, k, j);
  }
  Caller<T> random_call(const ProbeCall& p) const {
    Caller<T> x(backend_, p);
    fill(x, {p.m, p.n, p.k});
    return x;
  }

  Outcome differ(const Shape& s, const std::vector<T>& want, const Caller<T>& x, std::optional<ProbeCall> left,
                 std::optional<ProbeCall> right, const std::string& left_name, const std::string& right_name) const {
    Index different = 0;
    std::size_t first = 0;
    for (std::size_t i = want.size(); i-- > 0;)
      if (!same_bits(want[i], x.result_at(i))) ++different, first = i;
    if (different == 0) return {};
    const Index i = static_cast<Index>(first) / s.n, j = static_cast<Index>(first) % s.n;
    return Failure{fmt::format("{}: {} of {} elements differ between {} and {}; ({}, {}) is {} and {}", text(s), different,
                               want.size(), left_name, right_name, i, j, hex(want[first]), hex(x.result_at(first))),
                   std::move(left),
                   std::move(right),
                   i,
                   j,
                   i,
                   j};
  }

  template <class Next>
  Outcome variants(const Shape& s, const std::string& base_name, Next next) {
    auto base = random_call(call(s));
    base.run();
    const auto want = base.result();
    for (int v = 0;; ++v) {
      auto p = call(s);
      std::string what;
      if (!next(p, v, what) || (options_.quick && v > 2)) return {};
      auto x = random_call(p);
      x.run();
      if (auto f = differ(s, want, x, call(s), p, base_name, what)) return f;
    }
  }

  Outcome batch(const Shape& s, std::vector<Index> sizes, bool rows) {
    auto base = random_call(call(s));
    base.run();
    const Index whole = rows ? s.m : s.n;
    for (const Index size : sizes) {
      if (size < 1 || size >= whole || (size == 1) != (sizes.size() == 1)) continue;
      Shape part = s;
      (rows ? part.m : part.n) = size;
      // The last `size` rows (columns), so that their place differs as well.
      const Index skip = whole - size;
      Caller<T> x(backend_, call(part));
      for (Index i = 0; i < part.m; ++i)
        for (Index k = 0; k < s.k; ++k) x.a(i, k) = sample<T>(options_.seed, i + (rows ? skip : 0), k);
      for (Index k = 0; k < s.k; ++k)
        for (Index j = 0; j < part.n; ++j) x.b(k, j) = sample<T>(options_.seed + 1, k, j + (rows ? 0 : skip));
      x.run();
      for (Index i = 0; i < part.m; ++i)
        for (Index j = 0; j < part.n; ++j) {
          const Index i0 = i + (rows ? skip : 0), j0 = j + (rows ? 0 : skip);
          const T left = base.c(i0, j0), right = x.c(i, j);
          if (!same_bits(left, right))
            return Failure{
                fmt::format(
                    "{}: {} {} alone ({} {}) differ{} from the same in the whole product: ({}, {}) is {} there and {} alone",
                    text(s), rows ? "rows" : "columns", fmt::format("{}:{}", skip, whole), size, rows ? "rows" : "columns",
                    "", i0, j0, hex(left), hex(right)),
                call(s),
                call(part),
                i0,
                j0,
                i,
                j};
        }
    }
    return {};
  }

  // What the backend was probed to compute in: a TF32 backend is held to the bound of TF32.
  Precision precision() {
    if (precision_) return *precision_;
    if (sizeof(T) == 8) return *(precision_ = Precision::f64);
    // One product with 1: it comes back whole, or rounded to a shorter format. Anything else is an error, not a precision.
    const std::pair<Format, Precision> formats[] = {
        {Format::tf32, Precision::tf32}, {Format::bf16, Precision::bf16}, {Format::fp16, Precision::fp16}};
    Caller<T> x(backend_, call({1, 1, 1}));
    x.a(0, 0) = T(1.2345679);
    x.b(0, 0) = T(1);
    x.run();
    precision_ = Precision::f32;
    for (const auto& [format, p] : formats)
      for (const auto rounding : {Rounding::rne, Rounding::rna, Rounding::rz})
        if (x.c(0, 0) != x.a(0, 0) && precision_ == Precision::f32 &&
            x.c(0, 0) == reference::round_to(format, rounding, x.a(0, 0)))
          precision_ = p;
    return *precision_;
  }

  std::vector<std::string> isas() const {
    std::vector<std::string> list;
    for (const auto& k : kernels())
      if (k.built && k.supported && std::find(list.begin(), list.end(), k.isa) == list.end()) list.push_back(k.isa);
    return list;
  }

  Backend& backend_;
  const CheckOptions& options_;
  std::optional<Precision> precision_;
  std::string note_;
};

template <class T>
struct Entry {
  const char* id;
  const char* text;
  typename Suite<T>::Clause run;
  bool large;  // worth its time at large shapes, too
};

template <class T>
const std::vector<Entry<T>>& entries() {
  using S = Suite<T>;
  static const std::vector<Entry<T>> list{
      {"run-to-run", "the same call gives the same bits every time", &S::run_to_run, true},
      {"threads", "the thread count changes no bit", &S::threads, true},
      {"m-batch", "a row's bits do not depend on the other rows", &S::m_batch, true},
      {"m-one", "a row multiplied alone (M = 1) has the bits it has among others", &S::m_one, true},
      {"n-batch", "a column's bits do not depend on the other columns", &S::n_batch, true},
      {"n-one", "a column multiplied alone (N = 1) has the bits it has among others", &S::n_one, true},
      {"position", "equal rows and columns give equal bits wherever they stand", &S::position, true},
      {"leading-dimension", "leading dimensions change no bit", &S::leading_dimension, false},
      {"alignment", "addresses change no bit", &S::alignment, false},
      {"layout", "the storage order of A and B changes no bit", &S::layout, true},
      {"constant-b", "a constant (prepacked) B gives the bits of an input B", &S::constant_b, true},
      {"concurrent", "concurrent callers get the bits of a single one", &S::concurrent, false},
      {"beta-zero", "beta = 0 does not read C", &S::beta_zero, false},
      {"scalars", "alpha and beta of 0, 1, -1 and 2 do exactly what they say", &S::scalars, false},
      {"specials", "NaN and Inf reach their elements and no others", &S::specials, false},
      {"zero-times-inf", "0 * Inf is NaN: no zero is skipped by its value", &S::zero_times_inf, false},
      {"zeros", "sums of -0 have one sign everywhere", &S::zeros, false},
      {"subnormals", "subnormal inputs and results are kept", &S::subnormals, false},
      {"counts", "every product is counted exactly once", &S::counts, true},
      {"writes", "nothing outside C is written, no input is changed", &S::writes, false},
      {"bound", "errors stay within the bound of the precision", &S::bound, true},
      {"order", "the order is a fixed tree of rounded adds", &S::order, false},
      {"rounding-mode", "the caller's rounding mode changes no bit", &S::rounding_mode, false},
      {"flush-to-zero", "the caller's flush-to-zero mode changes no bit", &S::flush_to_zero, false},
      {"instruction-sets", "every instruction set gives the same bits", &S::instruction_sets, true},
      {"same-as", "the second backend gives the same bits", &S::same_as, true},
  };
  return list;
}

// Odd sizes, edges of register tiles, K past the usual blocks, and what makes libraries start threads.
constexpr Shape small_shapes[] = {{6, 7, 5}, {3, 7, 37}, {17, 33, 65}, {13, 5, 130}, {5, 49, 1}, {1, 9, 23}, {9, 1, 23}};
constexpr Shape large_shapes[] = {{33, 31, 700}, {64, 64, 500}, {100, 100, 333},
                                  {2, 40, 2000}, {2, 2, 40000}, {16, 16, 4000}};
constexpr Shape quick_shapes[] = {{6, 7, 5}, {5, 9, 67}};

template <class T>
void run_clause(Suite<T>& suite, const Entry<T>& entry, const CheckOptions& options, ClauseResult* result) {
  std::vector<Shape> shapes;
  if (options.quick) {
    shapes.assign(std::begin(quick_shapes), std::end(quick_shapes));
  } else {
    shapes.assign(std::begin(small_shapes), std::end(small_shapes));
    if (entry.large) shapes.insert(shapes.end(), std::begin(large_shapes), std::end(large_shapes));
  }
  // Sums of a few products look alike whatever their order: long ones first.
  if (entry.run == &Suite<T>::order)
    std::stable_partition(shapes.begin(), shapes.end(), [](const Shape& s) { return s.k >= 30; });
  for (const auto& s : shapes) {
    Outcome found;
    try {
      found = (suite.*entry.run)(s);
    } catch (const NotApplicable& n) {
      if (result->verdict != ClauseResult::Verdict::fails) {
        result->verdict = ClauseResult::Verdict::not_applicable;
        result->detail = n.why;
      }
      return;
    } catch (const Error& e) {
      found = Failure{e.what(), {}, {}};
      result->verdict = ClauseResult::Verdict::fails;
      result->detail = found->what;
      return;
    }
    if (!found) continue;
    // What is no order at a small shape says less about why.
    const auto smallest = entry.run == &Suite<T>::order ? std::move(*found) : suite.shrink(entry.run, s, std::move(*found));
    result->verdict = ClauseResult::Verdict::fails;
    result->detail = smallest.what;
    suite.name_orders(smallest, result);
    return;
  }
  if (entry.run == &Suite<T>::bound && result->detail.empty()) result->detail = "precision " + suite.precision_name();
  if (entry.run == &Suite<T>::order && result->detail.empty()) result->detail = suite.note();
}

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n')
      out += c;
  }
  return out;
}

const char* word(ClauseResult::Verdict v) {
  return v == ClauseResult::Verdict::holds ? "holds" : v == ClauseResult::Verdict::fails ? "FAILS" : "not applicable";
}

}  // namespace
}  // namespace explain

std::vector<ClauseInfo> clauses() {
  std::vector<ClauseInfo> list;
  for (const auto& entry : explain::entries<float>()) list.push_back({entry.id, entry.text});
  return list;
}

CheckReport check(Backend& backend, const CheckOptions& options) {
  if (options.threads.empty()) throw Error(Code::invalid_argument, "check: at least one thread count");
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
  explain::Suite<float> f32(backend, options);
  explain::Suite<double> f64(backend, options);
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
        explain::run_clause(f32, explain::entries<float>()[i], options, &result);
      else
        explain::run_clause(f64, explain::entries<double>()[i], options, &result);
    }
    if (!any) result.verdict = ClauseResult::Verdict::not_applicable, result.detail = "the backend has none of the types";
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.results.push_back(std::move(result));
  }
  return report;
}

bool CheckReport::ok() const {
  return std::none_of(results.begin(), results.end(),
                      [](const ClauseResult& r) { return r.verdict == ClauseResult::Verdict::fails; });
}

std::string CheckReport::text() const {
  std::string out = fmt::format("{}: {}\n", backend, description);
  std::size_t width = 0;
  for (const auto& r : results) width = std::max(width, r.id.size());
  for (const auto& r : results) {
    out += fmt::format("  {:{}}  {:14}  {}\n", r.id, width, explain::word(r.verdict), r.text);
    if (!r.detail.empty()) out += fmt::format("  {:{}}    {}\n", "", width, r.detail);
    if (!r.left.empty()) out += fmt::format("  {:{}}    orders: {}  |  {}\n", "", width, r.left, r.right);
  }
  const auto count = [&](ClauseResult::Verdict v) {
    return std::count_if(results.begin(), results.end(), [v](const ClauseResult& r) { return r.verdict == v; });
  };
  return out + fmt::format("{} hold, {} fail, {} not applicable\n", count(ClauseResult::Verdict::holds),
                           count(ClauseResult::Verdict::fails), count(ClauseResult::Verdict::not_applicable));
}

std::string CheckReport::junit() const {
  std::size_t failures = 0, skipped = 0;
  double seconds = 0;
  std::string cases;
  for (const auto& r : results) {
    seconds += r.seconds;
    cases +=
        fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", explain::xml(backend), r.id, r.seconds);
    if (r.verdict == ClauseResult::Verdict::fails) {
      ++failures;
      cases += fmt::format("<failure message=\"{}\">{}</failure>", explain::xml(r.text),
                           explain::xml(r.detail + (r.left.empty() ? "" : "\n" + r.left + "\n" + r.right)));
    } else if (r.verdict == ClauseResult::Verdict::not_applicable) {
      ++skipped;
      cases += fmt::format("<skipped message=\"{}\"/>", explain::xml(r.detail));
    }
    cases += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"samebits check {}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuite>\n",
      explain::xml(backend), results.size(), failures, skipped, seconds, cases);
}

}  // namespace samebits
