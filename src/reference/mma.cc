// SPDX-License-Identifier: Apache-2.0
// The fused dot-product-add of NVIDIA tensor cores with float32 accumulation, in integers. Model and constants after
// MMA-Sim (arXiv 2511.10909) and Khattak & Mikaitis (arXiv 2512.07004).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "reference/reference.h"

namespace samebits::reference {
namespace {

// value = significand * 2^(exponent - 23); subnormals of the input format are not normalised.
struct Term {
  std::int64_t significand;
  int exponent;
};

Term decode(float x, int emin) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const int biased = bits >> 23 & 0xff;
  const std::int64_t significand = (bits & 0x7fffff) | (biased ? 0x800000 : 0);
  const int exponent = std::max(biased - 127, -126);
  if (exponent >= emin) return {significand, exponent};
  return {emin - exponent < 24 ? significand >> (emin - exponent) : 0, emin};
}

// The greatest magnitude in float that does not exceed sum * 2^exponent; infinity from 2^128 on.
float toward_zero(std::uint64_t sum, int exponent) {
  const int excess = std::max(static_cast<int>(std::bit_width(sum)) - 24, -149 - exponent);
  if (excess >= 64) return 0;
  if (excess > 0) return std::ldexp(static_cast<float>(sum >> excess), exponent + excess);
  return std::ldexp(static_cast<float>(sum), exponent);
}

}  // namespace

float mma_block(const float* a, const float* b, int l, int fraction, float c, int emin) {
  const int e_zero = -(108 + fraction);
  bool nan = std::isnan(c), positive = c == INFINITY, negative = c == -INFINITY, minus_zero = c == 0 && std::signbit(c);
  int greatest = c == 0 ? e_zero : decode(c, -126).exponent;
  for (int i = 0; i < l; ++i) {
    const double product = static_cast<double>(a[i]) * b[i];  // exact
    nan |= std::isnan(product);
    positive |= product == INFINITY;
    negative |= product == -INFINITY;
    minus_zero &= product == 0 && std::signbit(product);
    greatest = std::max(greatest, product == 0 ? e_zero : decode(a[i], emin).exponent + decode(b[i], emin).exponent);
  }
  if (nan || (positive && negative)) return std::bit_cast<float>(0x7fffffffu);
  if (positive || negative) return positive ? INFINITY : -INFINITY;
  if (minus_zero) return -0.0f;  // the only way to -0 but underflow; not confirmed on hardware

  // Magnitudes have 46 fraction bits; `fraction` of them stay after alignment to `greatest`, the rest is cut off.
  std::int64_t sum = 0;
  const auto add = [&](std::int64_t magnitude, int exponent, bool minus) {
    if (magnitude == 0) return;  // its exponent had no say in `greatest`
    const int shift = greatest - exponent + 46 - fraction;
    const std::int64_t kept = shift < 64 ? magnitude >> shift : 0;
    sum += minus ? -kept : kept;
  };
  for (int i = 0; i < l; ++i) {
    const Term x = decode(a[i], emin), y = decode(b[i], emin);
    add(x.significand * y.significand, x.exponent + y.exponent, std::signbit(a[i]) != std::signbit(b[i]));
  }
  const Term z = decode(c, -126);
  add(z.significand << 23, z.exponent, std::signbit(c));
  const float magnitude = toward_zero(static_cast<std::uint64_t>(std::abs(sum)), greatest - fraction);
  return sum < 0 ? -magnitude : magnitude;
}

}  // namespace samebits::reference
