// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/reference.h"

namespace samebits::reference {
namespace {

struct Parameters {
  int precision, emin, emax;  // significant bits, exponents of the least and the greatest normal number
};

Parameters parameters(Format format) {
  switch (format) {
    case Format::tf32:
      return {11, -126, 127};
    case Format::bf16:
      return {8, -126, 127};
    case Format::fp16:
      return {11, -14, 15};
    case Format::none:
      break;
  }
  return {53, -1022, 1023};
}

}  // namespace

double round_to(Format format, Rounding rounding, double x) {
  if (format == Format::none || !std::isfinite(x) || x == 0) return std::isnan(x) ? x + x : x;  // quiet
  const auto [precision, emin, emax] = parameters(format);
  const int quantum = std::max(std::ilogb(x), emin) - (precision - 1);
  const double scaled = std::scalbn(x, -quantum);  // exact: below 2^precision, and upward where x is subnormal
  const double integer = rounding == Rounding::rne   ? std::nearbyint(scaled)
                         : rounding == Rounding::rna ? std::round(scaled)
                                                     : std::trunc(scaled);
  const double y = std::scalbn(integer, quantum);
  if (std::fabs(y) < std::scalbn(1.0, emax) * 2) return std::copysign(y, x);
  const bool to_infinity = rounding == Rounding::rne || rounding == Rounding::rna;
  const double greatest = std::scalbn(2.0 - std::scalbn(1.0, 1 - precision), emax);
  return std::copysign(to_infinity ? std::numeric_limits<double>::infinity() : greatest, x);
}

float round_to(Format format, Rounding rounding, float x) {
  if (format == Format::none) return x;
  if (std::isnan(x) && rounding == Rounding::rz_raw) {
    // The low bits are not read: a NaN whose payload lies in them becomes an infinity.
    const int dropped = 24 - parameters(format).precision;
    const auto bits = std::bit_cast<std::uint32_t>(x) >> dropped << dropped;
    return std::bit_cast<float>(bits);
  }
  return static_cast<float>(round_to(format, rounding, static_cast<double>(x)));
}

template <class T>
void gather(const InputRounding& rounding, const T* x, Index stride, Index n, T* out) {
  for (Index i = 0; i < n; ++i) out[i] = round_to(rounding.format, rounding.rounding, x[i * stride]);
}
template void gather(const InputRounding&, const float*, Index, Index, float*);
template void gather(const InputRounding&, const double*, Index, Index, double*);

}  // namespace samebits::reference
