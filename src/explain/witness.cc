// SPDX-License-Identifier: Apache-2.0
#include "explain/witness.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace samebits::explain {
namespace {

// Each entry: up to two values of A (others 0) against B = 1; its sum as element (r, 0) of some row sees it.
template <class T>
std::vector<T> sums(Caller<T>& caller, const std::vector<std::array<T, 2>>& rows) {
  const auto& p = caller.call();
  std::vector<T> out;
  caller.fill_b(T(1));
  for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(p.m)) {
    caller.fill_a(T(0));
    const auto count = std::min<std::size_t>(rows.size() - first, static_cast<std::size_t>(p.m));
    for (std::size_t i = 0; i < count; ++i) {
      caller.a(static_cast<Index>(i), 0) = rows[first + i][0];
      if (p.k > 1) caller.a(static_cast<Index>(i), p.k - 1) = rows[first + i][1];
    }
    caller.run();
    for (std::size_t i = 0; i < count; ++i) out.push_back(caller.c(static_cast<Index>(i), 0));
  }
  return out;
}

}  // namespace

template <class T>
Witness witness(Caller<T>& caller) {
  caller.stage("rounding");
  const auto& p = caller.call();
  Witness out;
  const T tiny = std::numeric_limits<T>::min();
  std::vector<std::array<T, 2>> rows;
  // Ties and near-ties of 8 and 11 significant bits, both signs; then the sum of two representable values.
  for (const int bits : {8, 11})
    for (const T sign : {T(1), T(-1)})
      for (const T odd : {T(1), T(3)})
        for (const T more : {T(-1), T(0), T(1)}) {
          const T half = std::ldexp(T(1), -bits);
          rows.push_back({sign * (1 + odd * half + more * std::ldexp(half, -6)), T(0)});
        }
  rows.push_back({std::ldexp(T(1), 17), T(0)});  // past the range of FP16, whose 11 bits are those of TF32
  const std::size_t inputs = rows.size();
  rows.push_back({T(1), std::ldexp(T(1), -12)});
  rows.push_back({T(1), std::ldexp(T(1), -9)});
  rows.push_back({tiny / 2, T(0)});
  rows.push_back({tiny + tiny / 2, -tiny});
  const auto seen = sums(caller, rows);

  const std::array<InputRounding, 8> candidates{{{Format::none, Rounding::rne},
                                                 {Format::tf32, Rounding::rna},
                                                 {Format::tf32, Rounding::rne},
                                                 {Format::tf32, Rounding::rz},
                                                 {Format::bf16, Rounding::rne},
                                                 {Format::fp16, Rounding::rne},
                                                 {Format::bf16, Rounding::rz},
                                                 {Format::fp16, Rounding::rz}}};
  bool found = false;
  for (const auto& candidate : candidates) {
    bool fits = true;
    for (std::size_t i = 0; i < inputs; ++i)
      fits &= seen[i] == reference::round_to(candidate.format, candidate.rounding, rows[i][0]);
    if (!fits) continue;
    out.input = candidate;
    found = true;
    break;
  }
  if (!found) out.notes.push_back("single products come back rounded in a way that no input format explains");
  if (p.k > 1 && seen[inputs] != rows[inputs][0] + rows[inputs][1]) {
    out.out = seen[inputs + 1] == T(1) ? Format::bf16 : Format::fp16;
    out.notes.push_back(
        fmt::format("results are rounded to {} (or accumulated in it)", out.out == Format::bf16 ? "bf16" : "fp16"));
    // What looked like rounded inputs may be the rounded result.
    if (out.input.format == out.out) out.input = {};
  }
  if (out.input.format == Format::none && out.out == Format::none) {
    out.flushes_subnormal_results = p.k > 1 && seen[inputs + 3] == 0;
    out.flushes_subnormal_inputs = seen[inputs + 2] == 0 && !out.flushes_subnormal_results;
  }

  const auto negative = [&](T a, T b) {
    caller.fill_a(a);
    caller.fill_b(b);
    caller.run();
    std::vector<char> signs(static_cast<std::size_t>(p.m * p.n));
    for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = caller.result_at(i) == 0 && std::signbit(caller.result_at(i));
    return signs;
  };
  out.negative = negative(T(-0.0), T(1));
  const T tiny_root = std::ldexp(T(1), sizeof(T) == 4 ? -100 : -600);
  out.negative_underflow = negative(-tiny_root, tiny_root);
  return out;
}

template Witness witness(Caller<float>&);
template Witness witness(Caller<double>&);

}  // namespace samebits::explain
