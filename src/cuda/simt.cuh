// SPDX-License-Identifier: Apache-2.0
// GEMM on the CUDA cores: any program of fma and mul runs, FP32 and FP64, any strides.
//
// A block computes a BM x BN tile of C. Stages of BK positions of A and B pass through shared memory, filled by cp.async
// while the stage before is used. A warp owns WM x WN of the tile, a thread TM x TN of that in pieces of V x V (V elements
// are 16 bytes): lanes next to each other read neighbouring vectors, so that 8 lanes fetch 128 bytes without bank conflict.
// Each element of C is one chain in one register: nothing but the program decides the order.
#pragma once

#include "cuda/shapes.h"
#include "cuda/tile.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

// Brings BK positions of BX rows of an operand into shared memory as [BK][BX + Pad].
template <class T, int BX, int BK, int Pad, int Threads, Access access, int LanesK>
struct Loader {
  static constexpr int V = access == Access::vector ? Vector<T>::size : 1;
  static constexpr int lanes_x = access == Access::vector ? BX / V : Threads / LanesK;  // threads side by side along x
  static constexpr int lanes_k = Threads / lanes_x;
  static constexpr int steps_x = access == Access::vector ? 1 : BX / lanes_x;
  static constexpr int steps_k = BK / lanes_k;
  static_assert(BK % lanes_k == 0 && Threads % lanes_x == 0 && BX % V == 0 && BX % (lanes_x * V) == 0);

  const T* source;  // this thread's first element
  int valid;        // elements from there to the edge of the operand, <= 0: none

  static SAMEBITS_DEVICE int first_x() { return access == Access::vector ? thread_index() % lanes_x * V : thread_index() / LanesK; }
  static SAMEBITS_DEVICE int first_k() { return access == Access::vector ? thread_index() / lanes_x : thread_index() % LanesK; }

  SAMEBITS_DEVICE Loader(const Operand<T>& operand, int first, int extent, std::uint32_t k) {
    valid = extent - first - first_x();
    source = operand.data + static_cast<Offset>(first + first_x()) * operand.stride + static_cast<Offset>(k + first_k()) * operand.stride_k;
  }
  // `left`: positions from the start of this stage to the end of the piece.
  SAMEBITS_DEVICE void fetch(const Operand<T>& operand, T* stage, int left) {
    T* const to = stage + first_k() * (BX + Pad) + first_x();
    const Offset stride = fresh(operand.stride), stride_k = fresh(operand.stride_k);
#pragma unroll
    for (int i = 0; i < steps_k; ++i)
#pragma unroll
      for (int j = 0; j < steps_x; ++j) {
        const int in = i * lanes_k < left - first_k() ? valid - j * lanes_x * V : 0;
        const int elements = in < 0 ? 0 : in < V ? in : V;
        const T* from = source + i * lanes_k * stride_k + j * lanes_x * V * stride;
        copy_async<V * sizeof(T)>(to + i * lanes_k * (BX + Pad) + j * lanes_x * V, elements ? from : source,
                                  elements * static_cast<int>(sizeof(T)));
      }
    source += BK * stride_k;
  }
};

template <RunOp op, class T>
SAMEBITS_DEVICE T accumulate(T a, T b, T s) {
  if constexpr (op == RunOp::fma)
    return fma_rn(a, b, s);
  else if constexpr (op == RunOp::mul_f32)  // wide programs of float inputs: the product is rounded to float
    return add_rn(s, static_cast<T>(static_cast<float>(mul_rn(a, b))));
  else
    return add_rn(s, mul_rn(a, b));
}

// op: fma or mul for every run, or `mixed`: each run says.
template <class S_, RunOp op, Access access_a, Access access_b>
struct Simt {
  using S = S_;
  using T = typename S::value;
  using LoadA = Loader<T, S::BM, S::BK, S::pad, S::threads, access_a, 8>;
  using LoadB = Loader<T, S::BN, S::BK, S::pad, S::threads, access_b, 8>;
  static constexpr int offset_b = S::BK * S::width_a;
  static constexpr bool mixed = op == RunOp::mixed;
  int row, column;  // first element in the tile

  SAMEBITS_DEVICE explicit Simt(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    row = warp / S::warps_n * S::WM + lane % S::lanes_m * S::V;
    column = warp % S::warps_n * S::WN + lane / S::lanes_m * S::V;
  }

  // One position: the outer product of TM values of A and TN of B.
  template <RunOp this_op>
  SAMEBITS_DEVICE static void step(const T* a, const T* b, T (&tile)[S::elements]) {
    using V = Vector<T>;
    V fa[S::TM / V::size], fb[S::TN / V::size];
#pragma unroll
    for (int i = 0; i < S::TM / V::size; ++i) fa[i] = load(reinterpret_cast<const V*>(a + i * S::lanes_m * V::size));
#pragma unroll
    for (int j = 0; j < S::TN / V::size; ++j) fb[j] = load(reinterpret_cast<const V*>(b + j * S::lanes_n * V::size));
#pragma unroll
    for (int i = 0; i < S::TM; ++i)
#pragma unroll
      for (int j = 0; j < S::TN; ++j) {
        T& s = tile[i * S::TN + j];
        s = accumulate<this_op>(fa[i / V::size].v[i % V::size], fb[j / V::size].v[j % V::size], s);
      }
  }

  template <RunOp this_op>
  SAMEBITS_DEVICE static void steps(const T* a, const T* b, int count, T (&tile)[S::elements]) {
    if (count == S::BK) {
      // More would spill where a thread owns many elements.
      [[maybe_unused]] constexpr bool all = S::elements <= 16 || (this_op == RunOp::fma && access_a == Access::vector);
      [[maybe_unused]] constexpr int unrolled = all ? S::BK : this_op == RunOp::fma ? 2 : 1;
#pragma unroll unrolled
      for (int k = 0; k < S::BK; ++k) step<this_op>(a + k * S::width_a, b + k * S::width_b, tile);
    } else {
#pragma unroll 1
      for (int k = 0; k < count; ++k) step<this_op>(a + k * S::width_a, b + k * S::width_b, tile);
    }
  }

  SAMEBITS_DEVICE void chain(const T* stage, int offset, int count, RunOp run_op, T (&tile)[S::elements]) const {
    const T* a = stage + offset * S::width_a + row;                 // (BK, width_a)
    const T* b = stage + offset_b + offset * S::width_b + column;   // (BK, width_b)
    if constexpr (mixed) {
      if (run_op == RunOp::fma) steps<RunOp::fma>(a, b, count, tile);
      if (run_op == RunOp::mul) steps<RunOp::mul>(a, b, count, tile);
      if (run_op == RunOp::mul_f32) steps<RunOp::mul_f32>(a, b, count, tile);
    } else {
      steps<op>(a, b, count, tile);
    }
  }

  SAMEBITS_DEVICE int element_row(int e) const { return row + e / S::TN / S::V * S::lanes_m * S::V + e / S::TN % S::V; }
  SAMEBITS_DEVICE int element_column(int e) const { return column + e % S::TN / S::V * S::lanes_n * S::V + e % S::TN % S::V; }

  static constexpr int parts = S::TM, staging_pad = 8 / S::lanes_m * S::V;  // eight lanes' vectors fall into different banks
  static SAMEBITS_DEVICE int row_of(int part, int i) {
    return i / S::lanes_m * S::WM + (part / S::V * S::lanes_m + i % S::lanes_m) * S::V + part % S::V;
  }
  SAMEBITS_DEVICE void put(int part, T* staging, int pitch, const T (&tile)[S::elements]) const {
    T* const to = staging + (row / S::WM * S::lanes_m + row % S::WM / S::V) * pitch + column;
#pragma unroll
    for (int j = 0; j < S::TN; j += S::V) {
      Vector<T> v;
#pragma unroll
      for (int i = 0; i < S::V; ++i) v.v[i] = tile[part * S::TN + j + i];
      store(reinterpret_cast<Vector<T>*>(to + j * S::lanes_n), v);
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
