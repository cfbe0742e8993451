// SPDX-License-Identifier: Apache-2.0
// Warp instructions with fragments; layouts as in the PTX manual, arithmetic by the reference. Compiled without sanitizers:
// the operands that lanes exchange stand for registers.
#include <cmath>

#include "cuda/host/device.h"
#include "reference/reference.h"

namespace samebits::cuda::sim {
namespace {

constexpr int warp_size = 32;

struct Tf32 {
  float* d;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

// K = 4 or 8 products by the blocks of the architecture: 4 with 24 fraction bits before sm_90, then all K with 25.
template <int K>
void tf32(void* const* lanes) {
  float a[16][K], b[8][K];  // b by column
  const auto lane = [&](int l) -> const Tf32& { return *static_cast<const Tf32*>(lanes[l]); };
  const auto tf32 = [](std::uint32_t x) { return std::bit_cast<float>(x & 0xffffe000u); };  // the low 13 bits are not read
  for (int l = 0; l < warp_size; ++l)
    for (int half = 0; half < K / 4; ++half) {
      const int g = l / 4, t = l % 4 + 4 * half;
      a[g][t] = tf32(lane(l).a[2 * half]);
      a[g + 8][t] = tf32(lane(l).a[2 * half + 1]);
      b[g][t] = tf32(lane(l).b[half]);
    }
  const bool hopper = architecture() >= 90;
  const int block = hopper ? K : 4, fraction = hopper ? 25 : 24;
  for (int l = 0; l < warp_size; ++l)
    for (int i = 0; i < 4; ++i) {
      const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
      float& d = lane(l).d[i];
      for (int k = 0; k < K; k += block) d = reference::mma_block(a[row] + k, b[column] + k, block, fraction, d);
    }
}

}  // namespace

void mma_tf32_k8(float* d, const std::uint32_t* a, const std::uint32_t* b, Site site) {
  Tf32 lane{d, a, b};
  warp_collective(&lane, tf32<8>, site);
}

void mma_tf32_k4(float* d, const std::uint32_t* a, const std::uint32_t* b, Site site) {
  Tf32 lane{d, a, b};
  warp_collective(&lane, tf32<4>, site);
}

void mma_f64(double* d, double a, double b, Site site) {
  struct Lane {
    double* d;
    double a, b;
  } lane{d, a, b};
  warp_collective(
      &lane,
      [](void* const* lanes) {
        const auto lane = [&](int l) -> Lane& { return *static_cast<Lane*>(lanes[l]); };
        for (int l = 0; l < warp_size; ++l)
          for (int i = 0; i < 2; ++i)
            for (int k = 0; k < 4; ++k)
              lane(l).d[i] = std::fma(lane(l / 4 * 4 + k).a, lane((l % 4 * 2 + i) * 4 + k).b, lane(l).d[i]);
      },
      site);
}

void exchange_rows(std::uint32_t* r, const std::uint32_t* row, const Site& site) {
  struct Lane {
    std::uint32_t* r;
    const std::uint32_t* row;
  } lane{r, row};
  warp_collective(
      &lane,
      [](void* const* lanes) {
        for (int l = 0; l < warp_size; ++l)
          for (int i = 0; i < 4; ++i)
            static_cast<Lane*>(lanes[l])->r[i] = static_cast<const Lane*>(lanes[8 * i + l / 4])->row[l % 4];
      },
      site);
}

}  // namespace samebits::cuda::sim
