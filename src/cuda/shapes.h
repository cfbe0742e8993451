// SPDX-License-Identifier: Apache-2.0
// Tile sizes of the kernels and what follows from them. One line of kernels.inc uses one shape.
#pragma once

#include <cstdint>

namespace samebits::cuda {

// How an operand is read: 16 bytes along its row or column index (stride 1, 16-byte aligned, stride_k a multiple of 16
// bytes), or element by element with any strides.
enum class Access : std::uint8_t { vector, element };

// A block computes BM x BN of C, BK positions a stage; a warp WM x WN; `blocks` fit on a multiprocessor.
template <class T, int BM_, int BN_, int BK_, int WM_, int WN_, int Stages_, int Blocks_>
struct Shape {
  using value = T;
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, stages = Stages_, blocks = Blocks_;
  static constexpr int V = 16 / sizeof(T);
  static constexpr int warps_n = BN / WN, threads = BM / WM * warps_n * 32;
  static constexpr int elements = WM * WN / 32;  // of C, a thread
  static constexpr int level_bytes = elements * threads * static_cast<int>(sizeof(T));
  static_assert(BM % WM == 0 && BN % WN == 0 && WM * WN % 32 == 0 && elements % V == 0 && stages >= 2);
};

// Simt: a thread owns TM x TN. A stage is [BK][BM + pad] of A, then [BK][BN + pad] of B.
template <class T, int BM, int BN, int BK, int WM, int WN, int TM_, int TN_, int Stages, int Blocks>
struct SimtShape : Shape<T, BM, BN, BK, WM, WN, Stages, Blocks> {
  using Base = Shape<T, BM, BN, BK, WM, WN, Stages, Blocks>;
  static constexpr int TM = TM_, TN = TN_, lanes_m = WM / TM, lanes_n = WN / TN, pad = Base::V;
  static constexpr int width_a = BM + pad, width_b = BN + pad, stage = BK * (width_a + width_b);
  static constexpr int pipeline_bytes = Stages * stage * static_cast<int>(sizeof(T));
  static_assert(lanes_m * lanes_n == 32 && TM % Base::V == 0 && TN % Base::V == 0);
};

// Dmma: FP64 mma of 8 x 8 x 4. The pad of 4 lets 16 lanes (4 k, 4 rows) read 16 different pairs of banks.
template <int BM, int BN, int BK, int WM, int WN, int Stages, int Blocks>
struct DmmaShape : Shape<double, BM, BN, BK, WM, WN, Stages, Blocks> {
  static constexpr int tiles_m = WM / 8, tiles_n = WN / 8, pad = 4;
  static constexpr int width_a = BM + pad, width_b = BN + pad, stage = BK * (width_a + width_b);
  static constexpr int pipeline_bytes = Stages * stage * 8;
  static_assert(WM % 8 == 0 && WN % 8 == 0 && BK % 4 == 0);
};

// Tf32: mma of 16 x 8 x (8 or 4). A stage is [BM][BK] of A, then [BN][BK] of B, 16-byte chunks swizzled.
template <int BM, int BN, int BK, int WM, int WN, int Stages, int Blocks>
struct Tf32Shape : Shape<float, BM, BN, BK, WM, WN, Stages, Blocks> {
  static constexpr int tiles_m = WM / 16, tiles_n = WN / 8;
  static constexpr int stage = BK * (BM + BN), pipeline_bytes = Stages * stage * 4;
  static_assert(BK == 16 && WM % 16 == 0 && WN % 16 == 0);
};

//                              BM   BN  BK  WM  WN  TM TN stages blocks
using SgemmLarge = SimtShape<float, 128, 128, 16, 64, 32, 8, 8, 2, 2>;
using SgemmSmall = SimtShape<float, 32, 32, 16, 32, 16, 4, 4, 6, 6>;
using DgemmLarge = SimtShape<double, 64, 64, 8, 32, 32, 8, 4, 3, 3>;
using DgemmSmall = SimtShape<double, 32, 32, 8, 32, 16, 4, 4, 6, 4>;
//                           BM   BN  BK  WM  WN stages blocks
using DmmaLarge = DmmaShape<64, 64, 16, 32, 32, 3, 3>;
using Tf32Large = Tf32Shape<128, 128, 16, 64, 64, 4, 2>;
using Tf32Small = Tf32Shape<64, 64, 16, 32, 32, 4, 3>;

}  // namespace samebits::cuda
