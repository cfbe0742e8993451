// SPDX-License-Identifier: Apache-2.0
// What kernels receive. Plain data, the same for a GPU and for the simulator.
#pragma once

#include <cstdint>

namespace samebits::cuda {

using Offset = std::int64_t;

enum class RunOp : std::uint8_t { fma, mul, mul_f32, mma, mixed };

// A run of the program (samebits/tree.h) over positions [begin, begin + length) of the packed K.
struct DeviceRun {
  std::uint32_t begin, length;
  std::uint32_t merges;  // afterwards, this many times: tile = pop() + tile
  RunOp op;
  bool resume;           // goes on with the tile left by the run before, else starts anew
  bool negative;         // starts from -0
  bool push;             // then put the tile on the stack
};

// A part of the program that one block computes for one tile of C. The sums of pieces are written to `partial` and added from
// left to right by the fold kernel.
struct Piece {
  std::uint32_t first_run, last_run;  // runs [first, last)
};

template <class T>
struct Operand {
  const T* data;
  Offset stride;    // from one row of op(A), or column of op(B), to the next
  Offset stride_k;  // from one k to the next
};

enum class OutRounding : std::uint8_t { none, fp16, bf16 };

// C <- alpha*AB + beta*C + bias, docs/orders.md "Epilogue".
template <class T>
struct Finish {
  T alpha, beta;
  bool fused;
  OutRounding out;
  T* c;
  Offset c_row, c_col;
  bool c_vector;  // c_col = 1 and rows start on 16 bytes
  const T* bias;  // or null
  Offset bias_row, bias_col;
  T seed_beta;  // epilogue(c=seed): beta, where C is read before the first chain
};

template <class T, class Out = T>
struct GemmArguments {
  std::int32_t m, n;
  std::uint32_t k;                 // packed positions
  Operand<T> a, b;
  const DeviceRun* runs;
  const Piece* pieces;
  std::int32_t piece_count;        // of this launch
  bool seeded;                     // run 0 merges the tile from which run 1 starts, epilogue(c=seed)
  std::int32_t tiles_m, tiles_n;   // of C
  std::int32_t shared_levels;      // stack levels kept in shared memory, the others stand in `stack`
  void* stack;                     // a tile for each block and level
  std::uint32_t stack_levels;
  T* partial;                      // the pieces' sums, matrices m x n, dense; null: C is written
  Finish<Out> finish;
};

// The sum from left to right of [sum so far, or first_beta * C], then alpha times each matrix of `partial`.
template <class T, class Out = T>
struct FoldArguments {
  std::int32_t m, n;
  std::int32_t count;        // matrices in `partial`
  T* partial;
  Finish<Out> finish;
  bool started;              // the first matrix is a sum so far, which has its alpha
  bool last;                 // go on to C, else the sum becomes the first matrix
  Out alpha, first_beta;
  bool fused;                // fma(alpha, piece, sum)
};

enum class InputFormat : std::uint8_t { none, tf32_rne, tf32_rna, tf32_rz, tf32_rz_raw, bf16_rne, fp16_rne };

// target(x, p) = round(source(x, map[p])), +0 where map[p] is `padding` or x is past the end.
template <class In, class T>
struct PackArguments {
  static constexpr std::uint32_t padding = 0xffffffffu;
  std::int32_t x, padded_x;
  std::uint32_t k;            // packed positions
  const std::uint32_t* map;   // or null: identity
  Operand<In> source;
  T* target;
  Offset target_x, target_k;  // strides
  bool read_k_first, write_k_first;  // neighbouring threads along k
  InputFormat format;
  In scale;                   // epilogue(alpha=a): after rounding; else 1
};

}  // namespace samebits::cuda
