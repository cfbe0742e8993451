// SPDX-License-Identifier: Apache-2.0
// Brings an operand into the form that a kernel reads: permuted along k, rounded, padded. 32 x 32 elements a block, through
// shared memory, so that both sides are read and written along their contiguous index.
#pragma once

#include "cuda/tile.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

// TF32 keeps 10 of FP32's 23 mantissa bits, BF16 7, both all exponents; FP16 is round_out's.
SAMEBITS_DEVICE float round_input(InputFormat format, float x) {
  const std::uint32_t bits = bits_of(x);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u, nan = (bits & 0x7fffffffu) > 0x7f800000u;
  switch (format) {
    case InputFormat::none: return x;
    case InputFormat::bf16_rne: return round_out(OutRounding::bf16, x);
    case InputFormat::fp16_rne: return round_out(OutRounding::fp16, x);
    case InputFormat::tf32_rz_raw: return float_of(bits & 0xffffe000u);
    default: break;
  }
  if (!finite) return nan ? float_of(bits | 0x00400000u) : x;
  const std::uint32_t up = format == InputFormat::tf32_rne ? 0xfffu + (bits >> 13 & 1u) : format == InputFormat::tf32_rna ? 0x1000u : 0u;
  return float_of((bits + up) & 0xffffe000u);
}
SAMEBITS_DEVICE double round_input(InputFormat, double x) { return x; }

template <class In, class T>
struct Pack {
  static constexpr int threads = 256, blocks = 4, side = 32, shared_bytes = side * (side + 1) * sizeof(T);

  SAMEBITS_DEVICE static void run(const PackArguments<In, T>& g) {
    T* const tile = reinterpret_cast<T*>(shared_memory());  // (side, side + 1), by x
    const int inner = thread_index() % side, outer = thread_index() / side;
    const Offset tiles_x = (g.padded_x + side - 1) / side, tiles_k = (static_cast<Offset>(g.k) + side - 1) / side;
    for (Offset number = block_index(); number < tiles_x * tiles_k; number += block_count()) {
      const Offset x0 = number % tiles_x * side, k0 = number / tiles_x * side;
      for (int i = outer; i < side; i += threads / side) {
        const int in_x = g.read_k_first ? i : inner, in_k = g.read_k_first ? inner : i;
        const Offset x = x0 + in_x, p = k0 + in_k;
        T value = T(0);
        if (x < g.x && p < g.k) {
          const std::uint32_t k = g.map ? g.map[p] : static_cast<std::uint32_t>(p);
          if (k != g.padding) {
            const In rounded = round_input(g.format, g.source.data[x * g.source.stride + k * g.source.stride_k]);
            value = static_cast<T>(g.scale == In(1) ? rounded : mul_rn(g.scale, rounded));
          }
        }
        store(tile + in_x * (side + 1) + in_k, value);
      }
      sync_threads();
      for (int i = outer; i < side; i += threads / side) {
        const int in_x = g.write_k_first ? i : inner, in_k = g.write_k_first ? inner : i;
        const Offset x = x0 + in_x, p = k0 + in_k;
        if (x < g.padded_x && p < g.k) g.target[x * g.target_x + p * g.target_k] = load(tile + in_x * (side + 1) + in_k);
      }
      sync_threads();
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
