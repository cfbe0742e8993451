// SPDX-License-Identifier: Apache-2.0
// TF32 on the tensor cores by mma.sync. The operands come packed (pack.cuh): rounded, k contiguous, every run on a multiple
// of 8 positions and filled up to whole blocks with +0. So no rounding, no edge of K and no permutation is left in the loop.
#pragma once

#include "cuda/shapes.h"
#include "cuda/tile.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

// A row of a stage is four chunks of 16 bytes; chunk c of row r stands at c ^ (r / 2 % 4). Eight rows with the same c, which
// is what ldmatrix reads and cp.async writes at a time, then lie in different banks.
SAMEBITS_DEVICE int swizzle(int row, int chunk) { return row * 16 + (chunk ^ (row / 2 % 4)) * 4; }

struct alignas(8) Pair {
  float x, y;
};

template <int BX, int BK, int Threads>
struct PackedLoader {
  static constexpr int rows = Threads / 4, steps = BX / rows;  // four threads side by side on a row
  static_assert(BX % rows == 0 && rows % 8 == 0 && BK == 16);
  const float* source;  // this thread's first chunk
  int valid;            // rows from there to the edge of the operand, <= 0: none

  static SAMEBITS_DEVICE int row() { return thread_index() / 4; }
  static SAMEBITS_DEVICE int chunk() { return thread_index() % 4; }

  SAMEBITS_DEVICE PackedLoader(const Operand<float>& operand, int first, int extent, std::uint32_t k) {
    valid = extent - first - row();
    source = operand.data + static_cast<Offset>(first + row()) * operand.stride + k + chunk() * 4;
  }
  SAMEBITS_DEVICE void fetch(const Operand<float>& operand, float* stage, int left) {
    float* const to = stage + swizzle(row(), chunk());
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const bool in = i * rows < valid && chunk() * 4 < left;
      copy_async<16>(to + i * rows * BK, in ? source + i * rows * operand.stride : source, in ? 16 : 0);
    }
    source += BK;
  }
};

// K: products of one instruction, 8 or 4.
template <class S_, int K>
struct Tf32 {
  using S = S_;
  using LoadA = PackedLoader<S::BM, S::BK, S::threads>;
  using LoadB = PackedLoader<S::BN, S::BK, S::threads>;
  static constexpr int offset_b = S::BK * S::BM;
  static constexpr bool mixed = false;
  int row, column, lane;

  SAMEBITS_DEVICE explicit Tf32(int thread) {
    const int warp = thread / 32;
    lane = thread % 32;
    row = warp / S::warps_n * S::WM;
    column = warp % S::warps_n * S::WN;
  }

  // Eight positions, or the first four of them.
  SAMEBITS_DEVICE void step(const float* stage, int k, bool whole, float (&tile)[S::elements]) const {
    std::uint32_t a[S::tiles_m][4], b[S::tiles_n / 2][4];
    const int r = lane % 8, matrix = lane / 8;
#pragma unroll
    for (int i = 0; i < S::tiles_m; ++i)  // rows 0-7, 8-15 of k 0-3, then of k 4-7
      load_matrices(a[i], stage + swizzle(row + i * 16 + matrix % 2 * 8 + r, k / 4 + matrix / 2));
#pragma unroll
    for (int j = 0; j < S::tiles_n / 2; ++j)  // k 0-3, 4-7 of columns 0-7, then of columns 8-15
      load_matrices(b[j], stage + offset_b + swizzle(column + j * 16 + matrix / 2 * 8 + r, k / 4 + matrix % 2));
#pragma unroll
    for (int i = 0; i < S::tiles_m; ++i)
#pragma unroll
      for (int j = 0; j < S::tiles_n; ++j) {
        float* d = tile + (i * S::tiles_n + j) * 4;
        const std::uint32_t* fb = b[j / 2] + j % 2 * 2;
        if (K == 8 && whole) {
          mma_tf32_k8(d, a[i], fb);
        } else {
          mma_tf32_k4(d, a[i], fb);
          if (whole) mma_tf32_k4(d, a[i] + 2, fb + 1);
        }
      }
  }

  SAMEBITS_DEVICE void chain(const float* stage, int offset, int count, RunOp, float (&tile)[S::elements]) const {
    if (count == S::BK) {
#pragma unroll
      for (int k = 0; k < S::BK; k += 8) step(stage, k, true, tile);
    } else {
#pragma unroll 1
      for (int k = 0; k < count; k += 8) step(stage, offset + k, count - k >= 8, tile);
    }
  }

  SAMEBITS_DEVICE int element_row(int e) const { return row + e / 4 / S::tiles_n * 16 + e % 4 / 2 * 8 + lane / 4; }
  SAMEBITS_DEVICE int element_column(int e) const { return column + e / 4 % S::tiles_n * 8 + lane % 4 * 2 + e % 2; }

  static constexpr int parts = S::tiles_m * 2, staging_pad = 8;
  static SAMEBITS_DEVICE int row_of(int part, int i) { return i / 8 * S::WM + part * 8 + i % 8; }
  SAMEBITS_DEVICE void put(int part, float* staging, int pitch, const float (&tile)[S::elements]) const {
    float* const to = staging + (row / S::WM * 8 + lane / 4) * pitch + column + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < S::tiles_n; ++j) {
      const float* d = tile + (part / 2 * S::tiles_n + j) * 4 + part % 2 * 2;
      store(reinterpret_cast<Pair*>(to + j * 8), Pair{d[0], d[1]});
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
