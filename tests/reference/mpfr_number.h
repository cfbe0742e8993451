// SPDX-License-Identifier: Apache-2.0
// IEEE arithmetic by MPFR, one rounding a call, independent of the machine's: formats with subnormals.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace samebits::test {

class Number {
 public:
  explicit Number(mpfr_prec_t bits = 6000, double x = 0) {
    mpfr_init2(x_, bits);
    mpfr_set_d(x_, x, MPFR_RNDN);
  }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(x_); }
  operator mpfr_ptr() { return x_; }

 private:
  mpfr_t x_;
};

// Significant bits, exponents of the least and the greatest normal number.
struct Ieee {
  int precision, emin, emax;
};
inline constexpr Ieee kDouble{53, -1022, 1023}, kFloat{24, -126, 127}, kTf32{11, -126, 127}, kBf16{8, -126, 127},
    kFp16{11, -14, 15};

// The exact x rounded to the format. Zero keeps its sign; beyond the greatest number as IEEE has it for this rounding.
inline double rounded(mpfr_ptr x, Ieee format, mpfr_rnd_t rounding) {
  const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
  mpfr_t y;
  mpfr_init2(y, format.precision);
  mpfr_set_emin(format.emin - format.precision + 2);
  mpfr_set_emax(format.emax + 1);
  int ternary = mpfr_set(y, x, rounding);
  ternary = mpfr_check_range(y, ternary, rounding);
  mpfr_subnormalize(y, ternary, rounding);
  const double value = mpfr_get_d(y, MPFR_RNDN);
  mpfr_clear(y);
  mpfr_set_emin(emin);
  mpfr_set_emax(emax);
  return value;
}

// fma(a, b, c) rounded to nearest; pass c = -0 for a product with its sign.
inline double fma(Ieee format, double a, double b, double c) {
  Number x, y, z;
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_set_d(z, c, MPFR_RNDN);
  mpfr_fma(z, x, y, z, MPFR_RNDN);  // exact in so many bits
  return rounded(z, format, MPFR_RNDN);
}
inline double mul(Ieee format, double a, double b) {
  return fma(format, a, b, -0.0);
}
inline double add(Ieee format, double a, double b) {
  return fma(format, a, 1, b);
}

}  // namespace samebits::test
