// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/compare.h"
#include "reference/mpfr_number.h"
#include "reference/random_floats.h"
#include "reference/reference.h"

namespace samebits {
namespace {

using explain::hex;
using explain::same_bits;
using reference::round_to;

struct Case {
  Format format;
  test::Ieee ieee;
};
constexpr Case kCases[] = {{Format::tf32, test::kTf32}, {Format::bf16, test::kBf16}, {Format::fp16, test::kFp16}};

// Nearest, ties away: the neighbours toward and away from zero, and which of them is nearer.
double nearest_away(double x, test::Ieee format) {
  test::Number exact(53, x);
  const double in = test::rounded(exact, format, MPFR_RNDZ), out = test::rounded(exact, format, MPFR_RNDA);
  const double step = std::isinf(out) ? std::ldexp(1.0, format.emax - format.precision + 1) : std::fabs(out) - std::fabs(in);
  return std::fabs(x) - std::fabs(in) >= step / 2 ? out : in;
}

template <class T>
void against_mpfr(std::uint64_t seed) {
  test::RandomFloats random(seed);
  int ties = 0, subnormal = 0, infinite = 0;
  for (int i = 0; i < 100000; ++i) {
    const Case& c = kCases[i % 3];
    T x = random.finite<T>();
    if (random.chance(60))
      x = static_cast<T>(
          std::ldexp(1 + x / std::ldexp(T(1), std::ilogb(x ? x : T(1))), static_cast<int>(random.below(290)) - 150));
    if (random.chance(30)) {  // a tie, or next to one
      const double y = round_to(c.format, Rounding::rz, static_cast<double>(x));
      const int exponent = std::max(y == 0 ? c.ieee.emin : std::ilogb(y), c.ieee.emin);
      x = static_cast<T>(y + std::copysign(std::ldexp(0.5, exponent - c.ieee.precision + 1), y));
      if (random.chance(50))
        x = std::nextafter(x, T(random.below(2) ? 0 : 1e30));
      else
        ++ties;
    }
    test::Number exact(53, x);
    const double nearest = test::rounded(exact, c.ieee, MPFR_RNDN), zero = test::rounded(exact, c.ieee, MPFR_RNDZ);
    subnormal += nearest != 0 && std::fabs(nearest) < std::ldexp(1.0, c.ieee.emin);
    infinite += std::isinf(nearest);
    ASSERT_TRUE(same_bits(static_cast<double>(round_to(c.format, Rounding::rne, x)), nearest)) << hex(x) << " rne " << i % 3;
    ASSERT_TRUE(same_bits(static_cast<double>(round_to(c.format, Rounding::rz, x)), zero)) << hex(x) << " rz " << i % 3;
    ASSERT_TRUE(same_bits(static_cast<double>(round_to(c.format, Rounding::rna, x)), nearest_away(x, c.ieee)))
        << hex(x) << " rna " << i % 3;
  }
  EXPECT_GT(ties, 1000);
  EXPECT_GT(subnormal, 1000);
  EXPECT_GT(infinite, 100);
}

TEST(Round, FloatsEqualMpfr) {
  against_mpfr<float>(3);
}
TEST(Round, DoublesEqualMpfr) {
  against_mpfr<double>(4);
}  // once: not by way of float

// As hardware and libraries do it on the bits.
TEST(Round, TiesAwayToTf32IsAnAddedHalf) {
  test::RandomFloats random(5);
  for (int i = 0; i < 100000; ++i) {
    const float x = random.finite<float>();
    const auto bits = (std::bit_cast<std::uint32_t>(x) + 0x1000u) & ~0x1fffu;
    ASSERT_TRUE(same_bits(round_to(Format::tf32, Rounding::rna, x), std::bit_cast<float>(bits))) << hex(x);
    const auto cut = std::bit_cast<std::uint32_t>(x) & ~0x1fffu;
    ASSERT_TRUE(same_bits(round_to(Format::tf32, Rounding::rz_raw, x), std::bit_cast<float>(cut))) << hex(x);
  }
}

TEST(Round, SpecialValues) {
  const float low_payload = std::bit_cast<float>(0x7f800001u), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(round_to(Format::tf32, Rounding::rna, low_payload)));
  EXPECT_TRUE(std::isnan(round_to(Format::tf32, Rounding::rz, low_payload)));
  EXPECT_EQ(round_to(Format::tf32, Rounding::rz_raw, low_payload), inf);
  EXPECT_EQ(round_to(Format::tf32, Rounding::rna, std::numeric_limits<float>::max()), inf);
  EXPECT_EQ(round_to(Format::fp16, Rounding::rne, 65519.0f), 65504.0f);
  EXPECT_EQ(round_to(Format::fp16, Rounding::rne, 65520.0f), inf);
  EXPECT_EQ(round_to(Format::fp16, Rounding::rne, -inf), -inf);
  EXPECT_TRUE(same_bits(round_to(Format::bf16, Rounding::rne, -0.0f), -0.0f));
}

}  // namespace
}  // namespace samebits
