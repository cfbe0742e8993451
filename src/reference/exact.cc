// SPDX-License-Identifier: Apache-2.0
// Correctly rounded dot products: a fixed-point accumulator wide enough for every product (Kulisch).
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "reference/reference.h"

namespace samebits::reference {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kCarryBits = 64;  // room for 2^64 products

// Bit i of `words` weighs 2^(lowest + i).
template <class T>
struct Kulisch {
  using Limits = std::numeric_limits<T>;
  static constexpr int least = Limits::min_exponent - Limits::digits;  // exponent of the least subnormal
  static constexpr int lowest = 2 * least;
  static constexpr int words = (2 * Limits::max_exponent - lowest + kCarryBits + 63) / 64;
  using Sum = std::array<std::uint64_t, words + 1>;  // the last word is never reached; it ends the carry loop

  Sum positive{}, negative{};  // kept apart: carries stay short, nothing cancels
  bool any_nan = false, plus_infinity = false, minus_infinity = false;

  void add_product(T a, T b) {
    const bool minus = std::signbit(a) != std::signbit(b);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (std::isnan(a) || std::isnan(b) || a == 0 || b == 0)
        any_nan = true;
      else
        (minus ? minus_infinity : plus_infinity) = true;
      return;
    }
    if (a == 0 || b == 0) return;
    const Magnitude x = decode(a), y = decode(b);
    const Wide product = static_cast<Wide>(x.significand) * y.significand;
    const int at = x.exponent + y.exponent - lowest;
    Sum& sum = minus ? negative : positive;
    const int word = at / 64, shift = at % 64;
    const auto low = static_cast<std::uint64_t>(product), high = static_cast<std::uint64_t>(product >> 64);
    const std::uint64_t parts[3] = {low << shift, (high << shift) | (shift ? low >> (64 - shift) : 0),
                                    shift ? high >> (64 - shift) : 0};
    bool carry = false;
    for (int i = 0; i < 3 || carry; ++i) {
      std::uint64_t x = sum[word + i], part = i < 3 ? parts[i] : 0;
      const bool c1 = __builtin_add_overflow(x, part, &x);
      const bool c2 = __builtin_add_overflow(x, static_cast<std::uint64_t>(carry), &x);
      sum[word + i] = x;
      carry = c1 || c2;
    }
  }

  T round() const {
    if (any_nan || (plus_infinity && minus_infinity)) return Limits::quiet_NaN();
    if (plus_infinity || minus_infinity) return plus_infinity ? Limits::infinity() : -Limits::infinity();
    const bool minus = negative_is_greater();
    const Sum& x = minus ? negative : positive;
    const Sum& y = minus ? positive : negative;
    Sum d{};
    bool borrow = false;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const bool b1 = __builtin_sub_overflow(x[i], y[i], &d[i]);
      const bool b2 = __builtin_sub_overflow(d[i], static_cast<std::uint64_t>(borrow), &d[i]);
      borrow = b1 || b2;
    }
    int top = static_cast<int>(d.size()) - 1;
    while (top >= 0 && d[top] == 0) --top;
    if (top < 0) return 0;
    const int width = 64 * top + std::bit_width(d[top]);
    // The result's last place: `digits` below the leading bit, but not below the least subnormal.
    const int last = std::max(width - Limits::digits, least - lowest);
    std::uint64_t significand = bits_from(d, last);
    const bool half = bit(d, last - 1);
    bool below = false;
    for (int i = 0; i < (last - 1) / 64; ++i) below |= d[i] != 0;
    if ((last - 1) % 64 != 0) below |= (d[(last - 1) / 64] << (64 - (last - 1) % 64)) != 0;
    if (half && (below || (significand & 1))) ++significand;
    const T magnitude = std::ldexp(static_cast<T>(significand), last + lowest);  // exact, or infinity
    return minus ? -magnitude : magnitude;
  }

 private:
  struct Magnitude {  // significand * 2^exponent
    std::uint64_t significand;
    int exponent;
  };
  static Magnitude decode(T x) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr int fraction = Limits::digits - 1;
    constexpr Bits hidden = Bits{1} << fraction;
    const Bits bits = std::bit_cast<Bits>(std::fabs(x));
    const int biased = static_cast<int>(bits >> fraction);
    return {(bits & (hidden - 1)) | (biased ? hidden : 0), least + std::max(biased, 1) - 1};
  }
  bool negative_is_greater() const {
    for (std::size_t i = positive.size(); i-- > 0;)
      if (positive[i] != negative[i]) return negative[i] > positive[i];
    return false;
  }
  static bool bit(const Sum& d, int i) { return d[i / 64] >> (i % 64) & 1; }
  // The bits from position `first` on; at most 64 are set.
  static std::uint64_t bits_from(const Sum& d, int first) {
    const std::size_t word = first / 64;
    const int shift = first % 64;
    std::uint64_t x = d[word] >> shift;
    if (shift && word + 1 < d.size()) x |= d[word + 1] << (64 - shift);
    return x;
  }
};

template <class T>
T dot(const T* a, const T* b, std::size_t n) {
  Kulisch<T> sum;
  for (std::size_t i = 0; i < n; ++i) sum.add_product(a[i], b[i]);
  return sum.round();
}

}  // namespace

float exact_dot(const float* a, const float* b, std::size_t n) {
  return dot(a, b, n);
}
double exact_dot(const double* a, const double* b, std::size_t n) {
  return dot(a, b, n);
}

}  // namespace samebits::reference
