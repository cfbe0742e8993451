// SPDX-License-Identifier: Apache-2.0
// Transposition of 256-bit vectors, for kernels of both AVX2 and AVX-512. Included after tile.h, with their flags.
#pragma once

#include <immintrin.h>

namespace samebits::cpu {
namespace {

[[gnu::always_inline]] inline void transpose_8x8(__m256 (&r)[8]) {
  __m256 t[8];
  unroll<4>([&](auto i) {
    t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  });
  unroll<2>([&](auto i) {  // r[4g + i]: columns i, 4+i of rows 4g .. 4g+3
    r[4 * i + 0] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  });
  unroll<4>([&](auto i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
    t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
  });
  unroll<8>([&](auto i) { r[i] = t[i]; });
}

}  // namespace
}  // namespace samebits::cpu
