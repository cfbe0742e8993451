// SPDX-License-Identifier: Apache-2.0
// Floating-point numbers that meet the corners: any bits, narrow ranges, subnormals, powers of two, the greatest numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>

namespace samebits::test {

class RandomFloats {
 public:
  explicit RandomFloats(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(int percent) { return below(100) < static_cast<unsigned>(percent); }

  // Finite.
  template <class T>
  T finite() {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    using Limits = std::numeric_limits<T>;
    switch (below(8)) {
      case 0:
        return sign(T(below(2) ? 0.0 : 1.0));
      case 1:
        return sign(Limits::denorm_min() * T(below(1 << 12)));
      case 2:
        return sign(std::ldexp(T(1), exponent<T>()));
      case 3:
        return sign(std::nextafter(std::ldexp(T(1), exponent<T>()), below(2) ? T(0) : Limits::max()));
      case 4:
        return sign(Limits::max() / T(1 + below(4)));
      case 5:
      case 6:
        return T(static_cast<double>(random_() >> 11) * 0x1p-53 * 2 - 1);
      default: {
        const T x = std::bit_cast<T>(static_cast<Bits>(random_()));
        return std::isfinite(x) ? x : T(1.5);
      }
    }
  }
  template <class T>
  T any() {
    if (!chance(3)) return finite<T>();
    using Limits = std::numeric_limits<T>;
    return below(2) ? Limits::quiet_NaN() : sign(Limits::infinity());
  }

 private:
  template <class T>
  T sign(T x) {
    return below(2) ? x : -x;
  }
  template <class T>
  int exponent() {
    using Limits = std::numeric_limits<T>;
    const int least = Limits::min_exponent - Limits::digits;
    return least + static_cast<int>(below(Limits::max_exponent - least));
  }
  std::mt19937_64 random_;
};

}  // namespace samebits::test
