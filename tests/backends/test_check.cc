// SPDX-License-Identifier: Apache-2.0
// Our own promises, and backends broken on purpose: each is caught by the clause that bears its name.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "reference/reference.h"
#include "samebits/check.h"
#include "samebits/error.h"

namespace samebits {
namespace {

using Call = BackendCall<float>;

float a_of(const Call& x, Index i, Index k) {
  return x.trans_a ? x.a[k * x.lda + i] : x.a[i * x.lda + k];
}
float b_of(const Call& x, Index k, Index j) {
  return x.trans_b ? x.b[j * x.ldb + k] : x.b[k * x.ldb + j];
}

// A right product, element by element, from any sum.
template <class Sum>
std::unique_ptr<Backend> from_sum(const char* name, Sum sum) {
  return make_backend(name, [sum](const Call& x) {
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) {
        const float t = x.alpha == 0 ? 0 : sum(x, i, j);
        float& c = x.c[i * x.ldc + j];
        c = x.alpha * t + (x.beta == 0 ? 0 : x.beta * c);
      }
  });
}

float chain(const Call& x, Index i, Index j, Index begin, Index end) {
  float s = 0;
  for (Index k = begin; k < end; ++k) s += a_of(x, i, k) * b_of(x, k, j);
  return s;
}

std::set<std::string> failing(Backend& backend, CheckReport* out = nullptr) {
  CheckOptions options;
  options.dtypes = {DType::f32};
  const auto report = check(backend, options);
  if (out) *out = report;
  std::set<std::string> ids;
  for (const auto& r : report.results)
    if (r.verdict == ClauseResult::Verdict::fails) ids.insert(r.id);
  return ids;
}
const ClauseResult& clause(const CheckReport& report, const std::string& id) {
  for (const auto& r : report.results)
    if (r.id == id) return r;
  throw std::out_of_range(id);
}

// What every plain C++ loop fails: it follows the caller's floating-point environment.
const std::set<std::string> environment{"rounding-mode", "flush-to-zero"};
std::set<std::string> with(std::set<std::string> ids) {
  ids.insert(environment.begin(), environment.end());
  return ids;
}

TEST(Check, EveryClauseHoldsForSamebits) {
  for (const char* name : {"samebits", "samebits(order=chunks(32) > lanes(4, fold=halves, tail=chain) > mul)"}) {
    const auto backend = open_backend(name);
    const auto report = check(*backend);
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_EQ(clause(report, "instruction-sets").verdict, ClauseResult::Verdict::holds);
  }
}

TEST(Check, APlainLoopFollowsItsCallersEnvironment) {
  EXPECT_EQ(failing(*open_backend("naive")), environment);
}

TEST(Check, CatchesADroppedProduct) {
  const auto backend = from_sum("drops the last k", [](const Call& x, Index i, Index j) {
    return chain(x, i, j, 0, x.k > 8 && x.k % 2 ? x.k - 1 : x.k);
  });
  CheckReport report;
  const auto ids = failing(*backend, &report);
  EXPECT_TRUE(ids.count("counts"));
  // The smallest: one element, nine products.
  EXPECT_NE(clause(report, "counts").detail.find("1 x 1 x 9: all-ones give 8"), std::string::npos)
      << clause(report, "counts").detail;
  EXPECT_NE(clause(report, "counts").detail.find("products are dropped"), std::string::npos);
}

TEST(Check, CatchesAReadOfC) {
  const auto backend = make_backend("reads C", [](const Call& x) {
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) x.c[i * x.ldc + j] = x.alpha * chain(x, i, j, 0, x.k) + x.beta * x.c[i * x.ldc + j];
  });
  EXPECT_TRUE(failing(*backend).count("beta-zero"));
}

TEST(Check, CatchesAWriteOutside) {
  const auto backend = make_backend("writes past a row", [](const Call& x) {
    for (Index i = 0; i < x.m; ++i) {
      for (Index j = 0; j < x.n; ++j) {
        float& c = x.c[i * x.ldc + j];
        c = (x.alpha == 0 ? 0 : x.alpha * chain(x, i, j, 0, x.k)) + (x.beta == 0 ? 0 : x.beta * c);
      }
      if (x.ldc > x.n) x.c[i * x.ldc + x.n] = 0;
    }
  });
  CheckReport report;
  EXPECT_EQ(failing(*backend, &report), with({"writes"}));
  EXPECT_NE(clause(report, "writes").detail.find("1 x 1 x 1, leading dimension of C 6: writes outside C, at 1 elements"),
            std::string::npos)
      << clause(report, "writes").detail;
}

TEST(Check, CatchesARace) {
  // One scratch row for all callers. Atomic, so that the test itself is free of undefined behaviour.
  static std::vector<std::atomic<float>> scratch(65536);
  const auto backend = from_sum("races", [](const Call& x, Index i, Index j) {
    for (Index k = 0; k < x.k; ++k) scratch[static_cast<std::size_t>(k)] = a_of(x, i, k);
    std::this_thread::yield();
    float s = 0;
    for (Index k = 0; k < x.k; ++k) s += scratch[static_cast<std::size_t>(k)] * b_of(x, k, j);
    return s;
  });
  EXPECT_EQ(failing(*backend), with({"concurrent"}));
}

TEST(Check, CatchesSkippedZeros) {
  const auto backend = from_sum("skips zeros", [](const Call& x, Index i, Index j) {
    float s = 0;
    for (Index k = 0; k < x.k; ++k)
      if (a_of(x, i, k) != 0) s += a_of(x, i, k) * b_of(x, k, j);
    return s;
  });
  EXPECT_EQ(failing(*backend), with({"zero-times-inf"}));
}

TEST(Check, CatchesARandomOrder) {
  static std::mt19937 engine(1);
  const auto backend = from_sum("random order", [](const Call& x, Index i, Index j) {
    const Index cut = x.k < 3 ? 0 : static_cast<Index>(engine() % static_cast<unsigned>(x.k));
    return chain(x, i, j, 0, cut) + chain(x, i, j, cut, x.k);
  });
  CheckOptions options;
  options.dtypes = {DType::f32};
  options.only = {"run-to-run", "order"};
  const auto report = check(*backend, options);
  EXPECT_EQ(report.results[0].verdict, ClauseResult::Verdict::fails);
  EXPECT_EQ(report.results[1].verdict, ClauseResult::Verdict::fails);
  EXPECT_NE(report.results[1].detail.find("random order"), std::string::npos) << report.results[1].detail;
}

TEST(Check, CatchesACompensatedSum) {
  const auto backend = from_sum("Kahan", [](const Call& x, Index i, Index j) {
    volatile float s = 0, c = 0;
    for (Index k = 0; k < x.k; ++k) {
      const float p = a_of(x, i, k) * b_of(x, k, j);
      const float e = std::fma(a_of(x, i, k), b_of(x, k, j), -p);
      volatile const float y = p - c;
      volatile const float t = s + y;
      volatile const float d = t - s;
      c = d - y - e;
      s = t;
    }
    return static_cast<float>(s);
  });
  CheckOptions options;
  options.dtypes = {DType::f32};
  options.only = {"order"};
  const auto report = check(*backend, options);
  EXPECT_EQ(report.results[0].verdict, ClauseResult::Verdict::fails);
  EXPECT_NE(report.results[0].detail.find("a compensated sum"), std::string::npos) << report.results[0].detail;
}

TEST(Check, CatchesThreadsThatCutK) {
  const auto backend = from_sum("cuts K", [](const Call& x, Index i, Index j) {
    if (x.threads == 1 || x.k < 4) return chain(x, i, j, 0, x.k);
    return chain(x, i, j, 0, x.k / 2) + chain(x, i, j, x.k / 2, x.k);
  });
  CheckReport report;
  EXPECT_EQ(failing(*backend, &report), with({"threads"}));
  // The orders of both sides are named.
  EXPECT_EQ(clause(report, "threads").left, "mul");
  EXPECT_NE(clause(report, "threads").right, "mul");
  EXPECT_NE(clause(report, "threads").right, "");
}

TEST(Check, CatchesAlignment) {
  const auto backend = from_sum("peels to an aligned address", [](const Call& x, Index i, Index j) {
    const auto past = reinterpret_cast<std::uintptr_t>(x.a) % 16 / 4;
    const Index head = std::min<Index>(x.k, past == 0 ? 0 : static_cast<Index>(4 - past));
    return chain(x, i, j, 0, head) + chain(x, i, j, head, x.k);
  });
  EXPECT_TRUE(failing(*backend).count("alignment"));
}

TEST(Check, CatchesAnotherPathForOneRow) {
  const auto backend = from_sum("gemv", [](const Call& x, Index i, Index j) {
    return x.m == 1 ? chain(x, i, j, 0, x.k / 2) + chain(x, i, j, x.k / 2, x.k) : chain(x, i, j, 0, x.k);
  });
  EXPECT_EQ(failing(*backend), with({"m-one"}));
}

TEST(Check, HoldsTf32ToTheBoundOfTf32) {
  const auto backend = from_sum("tf32", [](const Call& x, Index i, Index j) {
    float s = 0;
    const auto r = [](float v) { return reference::round_to(Format::tf32, Rounding::rna, v); };
    for (Index k = 0; k < x.k; ++k) s += r(a_of(x, i, k)) * r(b_of(x, k, j));
    return s;
  });
  CheckOptions options;
  options.dtypes = {DType::f32};
  options.only = {"bound", "order"};
  const auto report = check(*backend, options);
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.results[0].detail, "precision TF32");
  EXPECT_EQ(report.results[1].detail.rfind("tf32(rna) > ", 0), 0u) << report.results[1].detail;
}

TEST(Check, CatchesAnErrorBeyondRounding) {
  const auto backend = from_sum("off", [](const Call& x, Index i, Index j) { return chain(x, i, j, 0, x.k) * 1.001f; });
  EXPECT_TRUE(failing(*backend).count("bound"));
}

TEST(Check, NothingHoldsThatCannotFail) {
  CheckOptions options;
  options.only = {"threads", "constant-b", "instruction-sets", "same-as"};
  for (const auto& r : check(*open_backend("naive"), options).results)
    EXPECT_EQ(r.verdict, ClauseResult::Verdict::not_applicable) << r.id;
}

TEST(Check, ReportsAsTextAndJunit) {
  const auto backend = make_backend("a <b>", [](const Call& x) {
    if (x.k > 5) throw Error(Code::backend, "no & such");
  });
  CheckOptions options;
  options.only = {"run-to-run", "instruction-sets"};
  const auto report = check(*backend, options);
  EXPECT_FALSE(report.ok());
  const auto xml = report.junit();
  EXPECT_NE(xml.find("tests=\"2\" failures=\"1\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("a &lt;b&gt;"), std::string::npos);
  EXPECT_NE(xml.find("no &amp; such"), std::string::npos);
  EXPECT_NE(report.text().find("FAILS"), std::string::npos);
  EXPECT_THROW(check(*make_backend("none", [](const Call&) { throw Error(Code::backend, "never"); }), options), Error);
  options.only = {"no-such-clause"};
  EXPECT_THROW(check(*backend, options), Error);
}

}  // namespace
}  // namespace samebits
