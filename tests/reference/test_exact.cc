// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "explain/compare.h"
#include "reference/mpfr_number.h"
#include "reference/random_floats.h"
#include "reference/reference.h"

namespace samebits {
namespace {

using explain::bits;
using explain::same_bits;
using reference::exact_dot;

template <class T>
T by_mpfr(const std::vector<T>& a, const std::vector<T>& b) {
  test::Number sum, x(53), y(53);
  bool any_nonzero = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mpfr_set_d(x, a[i], MPFR_RNDN);
    mpfr_set_d(y, b[i], MPFR_RNDN);
    mpfr_fma(sum, x, y, sum, MPFR_RNDN);
    any_nonzero |= a[i] != 0 && b[i] != 0;
  }
  if (mpfr_zero_p(static_cast<mpfr_ptr>(sum))) return T(0);
  return static_cast<T>(test::rounded(sum, sizeof(T) == 4 ? test::kFloat : test::kDouble, MPFR_RNDN));
}

// Sums that are hard to round: random terms, then their cancellation, ties, the edges of the range.
template <class T>
void against_mpfr(int cases, std::uint64_t seed) {
  test::RandomFloats random(seed);
  using Limits = std::numeric_limits<T>;
  std::vector<T> a, b;
  const auto add = [&](T x, T y) {
    a.push_back(x);
    b.push_back(y);
  };
  int subnormal = 0, infinite = 0, zero = 0;
  for (int i = 0; i < cases; ++i) {
    a.clear();
    b.clear();
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n) add(random.finite<T>(), random.finite<T>());
    switch (random.below(6)) {
      case 0:  // all but one term cancel
        for (std::size_t j = a.size() - 1; j > 0; --j) add(-a[j - 1], b[j - 1]);
        break;
      case 1: {  // a tie, perhaps broken by a term far below
        a.clear(), b.clear();
        const T x = random.finite<T>(), ulp = std::nextafter(std::fabs(x), Limits::infinity()) - std::fabs(x);
        add(x, 1);
        if (std::isfinite(ulp)) add(ulp, random.below(2) ? T(0.5) : T(-0.5));
        if (random.below(2)) add(Limits::denorm_min(), random.below(2) ? Limits::denorm_min() : -Limits::denorm_min());
        break;
      }
      case 2:  // about the least subnormal
        a.clear(), b.clear();
        for (int n = 0; n < 3; ++n) add(std::ldexp(random.finite<T>(), -Limits::max_exponent), Limits::min());
        break;
      case 3: {  // about the greatest number
        a.clear(), b.clear();
        add(Limits::max(), 1);
        add(std::ldexp(T(1), Limits::max_exponent - 1 - Limits::digits), T(1) - T(random.below(3)) * Limits::epsilon());
        if (random.below(2)) add(Limits::denorm_min(), -1);
        break;
      }
    }
    const T got = exact_dot(a.data(), b.data(), a.size()), want = by_mpfr(a, b);
    subnormal += std::fpclassify(want) == FP_SUBNORMAL;
    infinite += std::isinf(want);
    zero += want == 0;
    ASSERT_TRUE(same_bits(got, want)) << "case " << i << ", " << a.size() << " terms: " << bits(got) << " for "
                                      << bits(want);
  }
  EXPECT_GT(subnormal, cases / 100);
  EXPECT_GT(infinite, cases / 100);
  EXPECT_GT(zero, cases / 100);
}

TEST(Exact, FloatEqualsMpfr) {
  against_mpfr<float>(100000, 1);
}
TEST(Exact, DoubleEqualsMpfr) {
  against_mpfr<double>(100000, 2);
}

TEST(Exact, ZeroSumsArePositiveAndUnderflowKeepsItsSign) {
  const float a[] = {1, -1}, b[] = {3, 3}, minus[] = {-0.0f};
  EXPECT_TRUE(same_bits(exact_dot(a, b, 2), 0.0f));
  EXPECT_TRUE(same_bits(exact_dot(minus, b, 1), 0.0f));
  EXPECT_TRUE(same_bits(exact_dot(a, b, 0), 0.0f));
  const float tiny[] = {-0x1p-149f}, quarter[] = {0.25f}, half[] = {0.5f}, more[] = {0.75f};
  EXPECT_TRUE(same_bits(exact_dot(tiny, quarter, 1), -0.0f));
  EXPECT_TRUE(same_bits(exact_dot(tiny, half, 1), -0.0f));
  EXPECT_TRUE(same_bits(exact_dot(tiny, more, 1), -0x1p-149f));
}

TEST(Exact, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN(), zero = 0, one = 1;
  EXPECT_TRUE(std::isnan(exact_dot(&inf, &zero, 1)));
  EXPECT_TRUE(std::isnan(exact_dot(&nan, &zero, 1)));
  EXPECT_EQ(exact_dot(&inf, &one, 1), inf);
  const float a[] = {inf, 1, -inf}, b[] = {1, nan, 1}, c[] = {1, 1, -1}, d[] = {1, 1, 1};
  EXPECT_TRUE(std::isnan(exact_dot(a, b, 3)));
  EXPECT_EQ(exact_dot(a, c, 3), inf);
  EXPECT_TRUE(std::isnan(exact_dot(a, d, 3)));
}

TEST(Exact, ManyTermsCarry) {
  const std::size_t n = 1 << 20;
  const std::vector<double> a(n, std::numeric_limits<double>::max()), b(n, 0x1p-20);
  EXPECT_EQ(exact_dot(a.data(), b.data(), n), std::numeric_limits<double>::max());
  const std::vector<float> x(n, std::numeric_limits<float>::max());
  EXPECT_EQ(exact_dot(x.data(), x.data(), n), std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace samebits
