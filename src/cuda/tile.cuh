// SPDX-License-Identifier: Apache-2.0
// What the GEMM kernels share: the stack of tiles that a program works on, and the way a finished tile leaves.
// A thread owns N elements of its block's tile, in registers, by constant indices only.
#pragma once

#include "cuda/arguments.h"
#include "cuda/device.cuh"

namespace samebits::cuda::SAMEBITS_SIDE {

SAMEBITS_DEVICE float round_out(OutRounding out, float x) {
  const std::uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu;
  if (out == OutRounding::none || magnitude >= 0x7f800000u) return x;
  if (out == OutRounding::bf16) return float_of((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
  if (magnitude < 0x38800000u) {  // subnormal in FP16: 0.5f has the same last place, 2^-24
    const float y = add_rn(add_rn(float_of(magnitude), 0.5f), -0.5f);
    return float_of(bits_of(y) | (bits & 0x80000000u));
  }
  const std::uint32_t rounded = (magnitude + 0xfffu + (magnitude >> 13 & 1u)) & 0xffffe000u;
  return float_of((rounded >= 0x47800000u ? 0x7f800000u : rounded) | (bits & 0x80000000u));
}
SAMEBITS_DEVICE double round_out(OutRounding, double x) { return x; }

template <class T>
SAMEBITS_DEVICE T finish_element(const Finish<T>& f, T t, Offset i, Offset j) {
  const bool scaled = f.alpha != T(1);
  if (f.beta != T(0)) {
    const T old = f.c[i * f.c_row + j * f.c_col];
    const T c = f.beta == T(1) ? old : mul_rn(f.beta, old);
    t = f.fused ? fma_rn(f.alpha, t, c) : add_rn(scaled ? mul_rn(f.alpha, t) : t, c);
  } else if (scaled) {
    t = mul_rn(f.alpha, t);
  }
  if (f.bias) t = add_rn(t, f.bias[i * f.bias_row + j * f.bias_col]);
  return round_out(f.out, t);
}

// The place of a block's stack; a level holds N * Threads values, a thread's own in vectors that neighbours continue.
template <class T, int N, int Threads>
struct Stack {
  T* shared;
  T* global;
  int shared_levels;

  SAMEBITS_DEVICE T* level(int height) const {
    return height < shared_levels ? shared + static_cast<Offset>(height) * (N * Threads)
                                  : global + static_cast<Offset>(height - shared_levels) * (N * Threads);
  }
  SAMEBITS_DEVICE void push(int height, const T (&tile)[N]) const {
    using V = Vector<T>;
    T* to = level(height) + thread_index() * V::size;
#pragma unroll
    for (int i = 0; i < N / V::size; ++i) {
      V v;
#pragma unroll
      for (int j = 0; j < V::size; ++j) v.v[j] = tile[i * V::size + j];
      store(reinterpret_cast<V*>(to + i * V::size * Threads), v);
    }
  }
  // tile <- popped + tile
  SAMEBITS_DEVICE void merge(int height, T (&tile)[N]) const {
    using V = Vector<T>;
    const T* from = level(height) + thread_index() * V::size;
#pragma unroll
    for (int i = 0; i < N / V::size; ++i) {
      const V v = load(reinterpret_cast<const V*>(from + i * V::size * Threads));
#pragma unroll
      for (int j = 0; j < V::size; ++j) tile[i * V::size + j] = add_rn(v.v[j], tile[i * V::size + j]);
    }
  }
};

// Walks the runs of a piece while positions go by.
template <class T, int N, int Threads>
struct Cursor {
  Stack<T, N, Threads> stack;
  const DeviceRun* next;
  const DeviceRun* end;
  DeviceRun run;
  int height = 0;
  bool done = false;

  SAMEBITS_DEVICE void start(T (&tile)[N]) {
    run = *next++;
    if (!run.resume) {
      const T zero = run.negative ? T(-0.0) : T(0);
#pragma unroll
      for (int i = 0; i < N; ++i) tile[i] = zero;
    }
  }
  // The run's positions are done: merge, push, and on to the next run that has positions.
  SAMEBITS_DEVICE void finish(T (&tile)[N]) {
    do {
      for (std::uint32_t i = 0; i < run.merges; ++i) stack.merge(--height, tile);
      if (run.push) stack.push(height++, tile);
      if (next == end) {
        done = true;
        return;
      }
      start(tile);
    } while (run.length == 0);
  }
  SAMEBITS_DEVICE void begin(T (&tile)[N]) {
    start(tile);
    if (run.length == 0) finish(tile);
  }
};

// Tile number -> tile of C and piece. Blocks that run at the same time share rows and columns: groups of eight rows of tiles.
struct TilePlace {
  int row, column, piece;
};
template <class Arguments>
SAMEBITS_DEVICE TilePlace tile_place(const Arguments& g, int number) {
  constexpr int group = 8;
  const int tiles = g.tiles_m * g.tiles_n, piece = number / tiles;
  const int in = number % tiles, band = in / (group * g.tiles_n), rest = in % (group * g.tiles_n);
  const int height = g.tiles_m - band * group < group ? g.tiles_m - band * group : group;
  return {band * group + rest % height, rest / height, piece};
}

// V neighbouring elements of a row, from a tile that may stand over the edge of C.
template <int V, class T, class Out>
SAMEBITS_DEVICE void write_row(const GemmArguments<T, Out>& g, int piece, Offset i, Offset j, const T* values) {
  if (i >= g.m) return;
  if (g.piece_count > 1) {
    T* to = g.partial + (static_cast<Offset>(piece) * g.m + i) * g.n;
    for (int v = 0; v < V; ++v)
      if (j + v < g.n) to[j + v] = values[v];
    return;
  }
  if constexpr (V == Vector<Out>::size) {
    if (g.finish.c_vector && j + V <= g.n) {
      Vector<Out> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out.v[v] = finish_element(g.finish, static_cast<Out>(values[v]), i, j + v);
      store(reinterpret_cast<Vector<Out>*>(g.finish.c + i * g.finish.c_row + j), out);
      return;
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v)
    if (j + v < g.n)
      g.finish.c[i * g.finish.c_row + (j + v) * g.finish.c_col] = finish_element(g.finish, static_cast<Out>(values[v]), i, j + v);
}

// Adds the pieces from left to right and finishes, one thread an element.
template <class T, class Out>
struct Fold {
  static constexpr int threads = 256;
  SAMEBITS_DEVICE static void run(const FoldArguments<T, Out>& g) {
    const Offset elements = static_cast<Offset>(g.m) * g.n;
    for (Offset e = static_cast<Offset>(block_index()) * threads + thread_index(); e < elements;
         e += static_cast<Offset>(block_count()) * threads) {
      T t = g.piece_count > 0 ? g.partial[e] : T(0);
      for (int piece = 1; piece < g.piece_count; ++piece) t = add_rn(t, g.partial[piece * elements + e]);
      const Offset i = e / g.n, j = e % g.n;
      g.finish.c[i * g.finish.c_row + j * g.finish.c_col] = finish_element(g.finish, static_cast<Out>(t), i, j);
    }
  }
};

}  // namespace samebits::cuda::SAMEBITS_SIDE
