// SPDX-License-Identifier: Apache-2.0
// FP64 on the tensor cores: mma 8 x 8 x 4 is a chain of four fma with ascending k, so its bits are those of `fma` runs.
#pragma once

#include "cuda/simt.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

template <class S_, Access access_a, Access access_b>
struct Dmma {
  using S = S_;
  // Four lanes along k, so that the stores of a half warp fall into different banks as its loads do.
  using LoadA = Loader<double, S::BM, S::BK, S::pad, S::threads, access_a, 4>;
  using LoadB = Loader<double, S::BN, S::BK, S::pad, S::threads, access_b, 4>;
  static constexpr int offset_b = S::BK * S::width_a;
  static constexpr bool mixed = false;
  int row, column, g, t;  // of the warp in the tile; lane / 4, lane % 4

  SAMEBITS_DEVICE explicit Dmma(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    row = warp / S::warps_n * S::WM;
    column = warp % S::warps_n * S::WN;
    g = lane / 4;
    t = lane % 4;
  }

  // Four positions, or fewer at the end of a run. A missing one multiplies -0 by +0: s + -0 = s for every s, and an
  // Inf or NaN that lies beyond the run stays out.
  template <bool whole>
  SAMEBITS_DEVICE void step(const double* a, const double* b, int count, double (&tile)[S::elements]) const {
    const bool in = whole || t < count;
    const int k = in ? t : 0;
    double fa[S::tiles_m], fb[S::tiles_n];
#pragma unroll
    for (int i = 0; i < S::tiles_m; ++i) {
      fa[i] = load(a + k * S::width_a + i * 8);
      if (!in) fa[i] = -0.0;
    }
#pragma unroll
    for (int j = 0; j < S::tiles_n; ++j) {
      fb[j] = load(b + k * S::width_b + j * 8);
      if (!in) fb[j] = 0.0;
    }
#pragma unroll
    for (int i = 0; i < S::tiles_m; ++i)
#pragma unroll
      for (int j = 0; j < S::tiles_n; ++j) mma_f64(tile + (i * S::tiles_n + j) * 2, fa[i], fb[j]);
  }

  SAMEBITS_DEVICE void chain(const double* stage, int offset, int count, RunOp, double (&tile)[S::elements]) const {
    const double* a = stage + offset * S::width_a + row + g;                // (BK, width_a)
    const double* b = stage + offset_b + offset * S::width_b + column + g;  // (BK, width_b)
    if (count == S::BK) {
#pragma unroll
      for (int k = 0; k < S::BK; k += 4) step<true>(a + k * S::width_a, b + k * S::width_b, 4, tile);
    } else {
#pragma unroll 1
      for (int k = 0; k < count; k += 4) step<false>(a + k * S::width_a, b + k * S::width_b, count - k, tile);
    }
  }

  SAMEBITS_DEVICE int element_row(int e) const { return row + e / 2 / S::tiles_n * 8 + g; }
  SAMEBITS_DEVICE int element_column(int e) const { return column + e / 2 % S::tiles_n * 8 + t * 2 + e % 2; }

  static constexpr int parts = S::tiles_m, staging_pad = 8;
  static SAMEBITS_DEVICE int row_of(int part, int i) { return i / 8 * S::WM + part * 8 + i % 8; }
  SAMEBITS_DEVICE void put(int part, double* staging, int pitch, const double (&tile)[S::elements]) const {
    double* const to = staging + (row / S::WM * 8 + g) * pitch + column + t * 2;
#pragma unroll
    for (int j = 0; j < S::tiles_n; ++j) {
      const double* d = tile + (part * S::tiles_n + j) * 2;
      store(reinterpret_cast<Vector<double>*>(to + j * 8), Vector<double>{{d[0], d[1]}});
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
