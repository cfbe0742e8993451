// SPDX-License-Identifier: Apache-2.0
// GEMM on the CUDA cores: any program of fma and mul runs, FP32 and FP64, any strides.
//
// A block computes a BM x BN tile of C. Stages of BK positions of A and B pass through shared memory, filled by cp.async
// while the stage before is used. A warp owns WM x WN of the tile, a thread TM x TN of that in pieces of V x V (V elements
// are 16 bytes): lanes next to each other read neighbouring vectors, so that 8 lanes fetch 128 bytes without bank conflict.
// Each element of C is one chain in one register: nothing but the program decides the order.
#pragma once

#include "cuda/tile.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

// How an operand is read: 16 bytes along its row or column index (stride 1, 16-byte aligned, stride_k a multiple of V), or
// element by element with any strides.
enum class Access : std::uint8_t { vector, element };

// Brings BK positions of BX rows of an operand into shared memory as [BK][BX + Pad].
template <class T, int BX, int BK, int Pad, int Threads, Access access, int LanesK>
struct Loader {
  static constexpr int V = access == Access::vector ? Vector<T>::size : 1;
  static constexpr int lanes_x = access == Access::vector ? BX / V : Threads / LanesK;  // threads side by side along x
  static constexpr int lanes_k = Threads / lanes_x;
  static constexpr int steps_x = access == Access::vector ? 1 : (BX + lanes_x - 1) / lanes_x;
  static constexpr int steps_k = BK / lanes_k;
  static_assert(BK % lanes_k == 0 && Threads % lanes_x == 0 && BX % V == 0 && BX % (lanes_x * V) == 0 * steps_x);

  int x, k;        // this thread's first element in the tile
  int valid;       // elements from x to the edge of the operand, <= 0: none
  const T* source;
  Offset stride, stride_k;

  SAMEBITS_DEVICE Loader(const Operand<T>& operand, Offset first, int extent, Offset first_k) {
    const int t = thread_index();
    x = access == Access::vector ? t % lanes_x * V : t / LanesK;
    k = access == Access::vector ? t / lanes_x : t % LanesK;
    valid = extent - static_cast<int>(first) - x;
    stride = operand.stride;
    stride_k = operand.stride_k;
    source = operand.data + (first + x) * stride + (first_k + k) * stride_k;
  }
  // `left`: positions from the start of this stage to the end of the piece.
  SAMEBITS_DEVICE void fetch(T* stage, std::uint32_t left) {
#pragma unroll
    for (int i = 0; i < steps_k; ++i)
#pragma unroll
      for (int j = 0; j < steps_x; ++j) {
        const int in = k + i * lanes_k < static_cast<int>(left) ? valid - j * lanes_x * V : 0;
        const int elements = in < 0 ? 0 : in < V ? in : V;
        const T* from = source + i * lanes_k * stride_k + j * lanes_x * V * stride;
        copy_async<V * sizeof(T)>(stage + (k + i * lanes_k) * (BX + Pad) + x + j * lanes_x * V, elements ? from : source,
                                  elements * static_cast<int>(sizeof(T)));
      }
    source += BK * stride_k;
  }
};

// Rows (x) of thread-owned vectors: V elements each, `count` of them, `lanes` lanes side by side.
template <class T, int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int Stages_, int Blocks_>
struct SimtShape {
  static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, TM = TM_, TN = TN_, stages = Stages_, blocks = Blocks_;
  static constexpr int V = Vector<T>::size;
  static constexpr int warps_n = BN / WN, threads = BM / WM * warps_n * 32;
  static constexpr int lanes_m = WM / TM, lanes_n = WN / TN;
  static constexpr int pad = V;
  static constexpr int elements = TM * TN;
  static constexpr int stage = BK * (BM + pad + BN + pad);
  static constexpr int pipeline_bytes = stages * stage * static_cast<int>(sizeof(T));
  static constexpr int level_bytes = elements * threads * static_cast<int>(sizeof(T));
  static_assert(lanes_m * lanes_n == 32 && TM % V == 0 && TN % V == 0 && elements % V == 0 && pipeline_bytes % 16 == 0);
};

template <RunOp op, class T>
SAMEBITS_DEVICE T accumulate(T a, T b, T s) {
  if constexpr (op == RunOp::fma)
    return fma_rn(a, b, s);
  else
    return add_rn(s, mul_rn(a, b));
}

template <class T, class Out, class S, RunOp op, Access access_a, Access access_b>
struct Simt {
  static constexpr int threads = S::threads, blocks = S::blocks;

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
      for (int j = 0; j < S::TN; ++j)
        tile[i * S::TN + j] = accumulate<this_op>(fa[i / V::size].v[i % V::size], fb[j / V::size].v[j % V::size], tile[i * S::TN + j]);
  }

  SAMEBITS_DEVICE static void run(const GemmArguments<T, Out>& g) {
    constexpr int width_a = S::BM + S::pad, width_b = S::BN + S::pad;
    T* const shared = reinterpret_cast<T*>(shared_memory());
    const int warp = thread_index() / 32, lane = thread_index() % 32;
    const int row = warp / S::warps_n * S::WM + lane % S::lanes_m * S::V;     // in the tile
    const int column = warp % S::warps_n * S::WN + lane / S::lanes_m * S::V;
    Cursor<T, S::elements, S::threads> cursor;
    cursor.stack = {shared + S::stages * S::stage,
                    static_cast<T*>(g.stack) + static_cast<Offset>(block_index()) * g.stack_levels * (S::elements * S::threads), g.shared_levels};

    for (int number = block_index(); number < g.tiles_m * g.tiles_n * g.piece_count; number += block_count()) {
      const TilePlace place = tile_place(g, number);
      const Piece piece = g.pieces[place.piece];
      cursor.next = g.runs + piece.first_run;
      cursor.end = g.runs + piece.last_run;
      cursor.height = 0;
      cursor.done = false;
      const std::uint32_t first = cursor.next->begin, last = cursor.end[-1].begin + cursor.end[-1].length;
      const Offset m0 = static_cast<Offset>(place.row) * S::BM, n0 = static_cast<Offset>(place.column) * S::BN;
      Loader<T, S::BM, S::BK, S::pad, S::threads, access_a, 8> load_a(g.a, m0, g.m, first);
      Loader<T, S::BN, S::BK, S::pad, S::threads, access_b, 8> load_b(g.b, n0, g.n, first);
      const std::uint32_t steps = (last - first + S::BK - 1) / S::BK;
      const auto fetch = [&](std::uint32_t step) {
        if (step < steps) {
          T* stage = shared + step % S::stages * S::stage;
          load_a.fetch(stage, last - first - step * S::BK);
          load_b.fetch(stage + S::BK * width_a, last - first - step * S::BK);
        }
        copy_commit();
      };
      for (int i = 0; i < S::stages - 1; ++i) fetch(i);

      T tile[S::elements];                                                    // (TM, TN)
      cursor.begin(tile);
      for (std::uint32_t step_number = 0; step_number < steps; ++step_number) {
        copy_wait<S::stages - 2>();
        sync_threads();  // the stage is there for all, and all have left the one that is filled next
        fetch(step_number + S::stages - 1);
        const T* a = shared + step_number % S::stages * S::stage + row;       // (BK, width_a)
        const T* b = shared + step_number % S::stages * S::stage + S::BK * width_a + column;
        std::uint32_t at = first + step_number * S::BK;
        const std::uint32_t stop = last - at < S::BK ? last : at + S::BK;
        while (at < stop) {
          const std::uint32_t run_end = cursor.run.begin + cursor.run.length;
          const std::uint32_t count = (run_end < stop ? run_end : stop) - at;
          if (count == S::BK) {
#pragma unroll
            for (int k = 0; k < S::BK; ++k) step<op>(a + k * width_a, b + k * width_b, tile);
          } else {
            for (std::uint32_t k = 0; k < count; ++k) step<op>(a + k * width_a, b + k * width_b, tile);
          }
          a += count * width_a;
          b += count * width_b;
          at += count;
          if (at == run_end) cursor.finish(tile);
        }
      }
#pragma unroll
      for (int i = 0; i < S::TM; ++i)
#pragma unroll
        for (int j = 0; j < S::TN; j += S::V)
          write_row<S::V>(g, place.piece, m0 + row + i / S::V * S::lanes_m * S::V + i % S::V,
                          n0 + column + j / S::V * S::lanes_n * S::V, tile + i * S::TN + j);
      sync_threads();  // the next tile fills stage 0
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
