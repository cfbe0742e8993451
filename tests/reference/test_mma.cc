// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "explain/compare.h"
#include "reference/mpfr_number.h"
#include "reference/random_floats.h"
#include "reference/reference.h"
#include "reference/trees.h"

namespace samebits {
namespace {

using explain::bits;
using explain::same_bits;
using reference::mma_block;

// The model again, from real numbers instead of integers: each term cut off below 2^(greatest - F), then the sum.
float by_mpfr(const float* a, const float* b, int l, int fraction, float c, int emin) {
  const auto exponent = [](float x, int least) { return std::max(std::ilogb(x), least); };
  int greatest = c == 0 ? -(108 + fraction) : exponent(c, -126);
  for (int i = 0; i < l; ++i)
    greatest = std::max(greatest, a[i] == 0 || b[i] == 0 ? -(108 + fraction) : exponent(a[i], emin) + exponent(b[i], emin));
  test::Number sum, term;
  const auto add = [&](double x, double y) {
    test::Number p(53, x), q(53, y);
    mpfr_mul(term, p, q, MPFR_RNDN);
    mpfr_mul_2si(term, term, fraction - greatest, MPFR_RNDN);
    mpfr_trunc(term, term);
    mpfr_add(sum, sum, term, MPFR_RNDN);
  };
  for (int i = 0; i < l; ++i) add(a[i], b[i]);
  add(c, 1);
  mpfr_mul_2si(sum, sum, greatest - fraction, MPFR_RNDN);
  if (mpfr_zero_p(static_cast<mpfr_ptr>(sum))) return 0;
  if (mpfr_cmpabs(sum, test::Number(53, 0x1p128)) >= 0)
    return mpfr_sgn(static_cast<mpfr_ptr>(sum)) < 0 ? -INFINITY : INFINITY;
  return static_cast<float>(test::rounded(sum, test::kFloat, MPFR_RNDZ));
}

TEST(Mma, EqualsTheModelInMpfr) {
  struct Unit {
    Format format;
    int emin, l, fraction;
  };
  const Unit units[] = {{Format::fp16, -14, 4, 23},  {Format::fp16, -14, 8, 24},  {Format::bf16, -126, 8, 24},
                        {Format::tf32, -126, 4, 24}, {Format::tf32, -126, 8, 25}, {Format::bf16, -126, 16, 25},
                        {Format::fp16, -14, 16, 25}, {Format::tf32, -126, 4, 25}};
  test::RandomFloats random(6);
  int subnormal = 0, infinite = 0, underflow_matters = 0;
  for (int i = 0; i < 100000; ++i) {
    const Unit& u = units[i % std::size(units)];
    float a[16] = {}, b[16] = {};
    const int range = static_cast<int>(random.below(3));
    const bool tiny = u.emin < -14 && random.chance(10);  // products near the least subnormal
    const auto value = [&] {
      float x = random.finite<float>();
      if (range == 0 || (u.format == Format::fp16 && random.chance(80)))
        x = std::ldexp(x == 0 ? 0 : x / std::ldexp(1.0f, std::ilogb(x)),
                       static_cast<int>(random.below(12)) - (range == 2 ? 24 : 6));
      if (tiny)
        x = std::ldexp(std::ldexp(x == 0 ? 0 : x, -std::ilogb(x == 0 ? 1 : x)), -70 - static_cast<int>(random.below(8)));
      x = reference::round_to(u.format, Rounding::rne, x);
      return std::isfinite(x) ? x : 1;
    };
    for (int j = 0; j < u.l; ++j) a[j] = value(), b[j] = value();
    float c = random.chance(20) ? 0 : random.finite<float>();
    if (range == 0 && random.chance(80))
      c = std::ldexp(1.0f + static_cast<float>(random.below(1 << 23)) * 0x1p-23f, static_cast<int>(random.below(12)) - 6);
    if (random.chance(20)) c = -a[0] * b[0];
    if (tiny || !std::isfinite(c)) c = 0;
    const float got = mma_block(a, b, u.l, u.fraction, c, u.emin), want = by_mpfr(a, b, u.l, u.fraction, c, u.emin);
    subnormal += std::fpclassify(want) == FP_SUBNORMAL;
    infinite += std::isinf(want);
    underflow_matters += u.emin == -14 && !same_bits(want, by_mpfr(a, b, u.l, u.fraction, c, -126));
    const bool all_minus_zero = got == 0 && std::signbit(got) && want == 0;
    ASSERT_TRUE(same_bits(got, want) || all_minus_zero) << i << ": " << bits(got) << " for " << bits(want);
  }
  EXPECT_GT(subnormal, 100);
  EXPECT_GT(infinite, 100);
  EXPECT_GT(underflow_matters, 10);
}

// One-shot test of a tensor core's fraction bits: the exact value is -0.875.
TEST(Mma, Classifier) {
  const float a[] = {-0x1p13f, -0.5f, -0.25f, -0.125f}, b[] = {0x1p10f, 1, 1, 1};
  EXPECT_EQ(mma_block(a, b, 4, 23, 0x1p23f), 0.0f);
  EXPECT_EQ(mma_block(a, b, 4, 24, 0x1p23f), -0.5f);
  EXPECT_EQ(mma_block(a, b, 4, 25, 0x1p23f), -0.75f);
}

// 1.5 * 1.5 keeps exponent 0, so more of the small terms is left than beside 2.25 * 1.
TEST(Mma, ProductsAreNotNormalised) {
  const float a[] = {1.5f, 0x1p-24f, 0x1p-24f}, b[] = {1.5f, 1, 1}, a2[] = {2.25f, 0x1p-24f, 0x1p-24f}, b2[] = {1, 1, 1};
  EXPECT_EQ(mma_block(a, b, 3, 24, 0x1p-23f), 2.25f + 0x1p-22f);
  EXPECT_EQ(mma_block(a2, b2, 3, 24, 0x1p-23f), 2.25f);
}

TEST(Mma, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  const auto one = [](float a, float b, float c) { return mma_block(&a, &b, 1, 24, c); };
  EXPECT_EQ(std::bit_cast<std::uint32_t>(one(inf, 0, 0)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(one(-inf, 1, inf)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(one(nan, 0, 0)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(one(1, 1, -nan)), 0x7fffffffu);
  EXPECT_EQ(one(inf, -2, 1), -inf);
  // Beyond the float range a product is no overflow by itself, and truncation never stops at the greatest float.
  const float a[] = {0x1p127f, 0x1p127f}, b[] = {0x1p127f, -0x1p127f};
  EXPECT_EQ(mma_block(a, b, 2, 24, 5.0f), 0.0f);
  EXPECT_EQ(one(0x1p127f, 2, 0), inf);
  EXPECT_EQ(one(std::numeric_limits<float>::max(), 1, std::numeric_limits<float>::max()), inf);
}

TEST(Mma, ZeroTermsDoNotRaiseTheExponent) {
  const float a[] = {0, 0x1p-126f}, b[] = {0x1p127f, 1.5f};
  EXPECT_EQ(mma_block(a, b, 2, 24, 0), 0x1.8p-126f);
  const float tiny[] = {0x1p-75f}, tinier[] = {0x1p-74f};
  EXPECT_EQ(mma_block(tiny, tinier, 1, 24, 0), 0x1p-149f);
}

TEST(Mma, SignOfZero) {
  const float minus[] = {-0.0f, -0.0f}, one[] = {1, 1};
  EXPECT_TRUE(same_bits(mma_block(minus, one, 2, 24, 0.0f), 0.0f));  // an order's c starts at +0
  EXPECT_TRUE(same_bits(mma_block(minus, one, 2, 24, -0.0f), -0.0f));
  const float a[] = {1, -1};
  EXPECT_TRUE(same_bits(mma_block(a, one, 2, 24, 0.0f), 0.0f));
}

// mma(4,24) over ten leaves: blocks of 4, 4, 2; with residue 2: 2, 4, 4.
TEST(Mma, BlocksOfATree) {
  test::RandomFloats random(7);
  int differ = 0;
  for (int i = 0; i < 1000; ++i) {
    float a[12] = {}, b[12] = {};
    for (int j = 0; j < 10; ++j) {
      a[j] = reference::round_to(Format::tf32, Rounding::rne, static_cast<float>(random.below(20001)) * 1e-4f - 1);
      b[j] = reference::round_to(Format::tf32, Rounding::rne, static_cast<float>(random.below(20001)) * 1e-4f - 1);
    }
    Tree tree = test::chain(10, Op::mma);
    tree.nodes[0].items[0].block = 4;
    tree.nodes[0].items[0].fraction = 24;
    float c = 0;
    for (int j = 0; j < 12; j += 4) c = mma_block(a + j, b + j, 4, 24, c);
    const float plain = reference::evaluate(tree, a, b);
    ASSERT_TRUE(same_bits(plain, c));

    tree.nodes[0].items[0].residue = 2;
    c = mma_block(a, b, 2, 24, 0);
    c = mma_block(a + 2, b + 2, 4, 24, c);
    c = mma_block(a + 6, b + 6, 4, 24, c);
    const float residue = reference::evaluate(tree, a, b);
    ASSERT_TRUE(same_bits(residue, c));
    differ += !same_bits(plain, residue);
  }
  EXPECT_GT(differ, 50);
}

}  // namespace
}  // namespace samebits
