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

// A part of the program that one block computes for one tile of C. More than one piece: the sums of the pieces are written
// to `partial` and added from left to right by the fold kernel.
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
};

template <class T, class Out = T>
struct GemmArguments {
  std::int32_t m, n;
  std::uint32_t k;                 // packed positions
  Operand<T> a, b;
  const DeviceRun* runs;
  const Piece* pieces;
  std::int32_t piece_count;
  std::int32_t tiles_m, tiles_n;   // of C
  std::int32_t shared_levels;      // stack levels kept in shared memory, the others stand in `stack`
  void* stack;                     // a tile for each block and level
  std::uint32_t stack_levels;
  T* partial;                      // piece_count matrices m x n, dense, when piece_count > 1
  Finish<Out> finish;
};

template <class T, class Out = T>
struct FoldArguments {
  std::int32_t m, n;
  std::int32_t piece_count;  // 0: the product is +0
  const T* partial;
  Finish<Out> finish;
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
};

}  // namespace samebits::cuda
