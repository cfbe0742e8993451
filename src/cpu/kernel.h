// SPDX-License-Identifier: Apache-2.0
// What a microkernel is given, and the table of kernels that one instruction set provides for one type.
//
// A kernel computes one tile of C, up to MR x NR, by executing a list of steps. A step is a run of the program (tree.h): a
// chain over `length` values of k, in registers, then merges with tiles from a stack, then perhaps a push. So one kernel
// executes every order. Only these files are compiled with instruction-set flags, and they include nothing of the standard
// library that could be emitted out of line: an inline function compiled for AVX-512 must not be what portable code links
// to.
#pragma once

#include <cstdint>

namespace samebits::cpu {

using Index = std::int64_t;

struct Step {
  enum class Start : std::uint8_t {
    zero,
    negative_zero,
    seed,    // TileCall::seed
    resume,  // the tile that is in registers
    pop,     // the top of the stack: a chain that was cut between two blocks of K
  };
  std::uint32_t first = 0;  // the chain reads k = first, first + stride, ...
  std::int32_t stride = 1;
  std::uint32_t length = 0;
  std::uint32_t merges = 0;  // afterwards, this many times: tile = pop() + tile
  Start start = Start::zero;
  bool mul = false;   // product rounded, then added; else fused
  bool push = false;  // then store the tile on the stack
};

// One tile. Element (i, k) of A is a[i*a_row + k*a_k], row k of B starts at b + k*b_k and has NR contiguous elements.
// Packed kernels: a_row is 1 and unused; A and B are padded, so all MR x NR elements are computed. Strided kernels never
// read beyond `rows` and `cols`.
template <class T>
struct TileCall {
  const Step* step = nullptr;
  const Step* end = nullptr;
  const T* a = nullptr;
  Index a_row = 1;
  Index a_k = 0;
  const T* b = nullptr;
  Index b_k = 0;
  // Packed kernels fetch ahead[k*ahead_k] and ahead[k*ahead_k + ahead_next] into the second-level cache. Never null.
  const T* ahead = nullptr;
  Index ahead_k = 0;
  Index ahead_next = 0;
  // The stack: entry s, MR*NR values, starts at (s < low_entries ? low : high) + s*MR*NR. `low` outlives the block of K.
  T* low = nullptr;
  T* high = nullptr;
  std::uint32_t low_entries = 0;
  Index low_step = 0;         // a row of tiles: from the entries of one tile in `low` to those of the next
  std::uint32_t entries = 0;  // on entry
  const T* seed = nullptr;    // MR*NR values
  T* c = nullptr;             // where the tile goes, unit column stride; null: nowhere (the last step has pushed it)
  Index c_row = 0;
  std::int32_t rows = 0;  // at most MR
  std::int32_t cols = 0;  // at most NR, at least NR - W + 1
};

// Columns that a kernel along k takes: two halves of so many chains that their latency is hidden behind the memory's.
constexpr int columns_along_k = 16;

template <class T>
using TileKernel = void (*)(const TileCall<T>&);

// Copies `lanes` rows (stride `lane`, in elements) of k_count contiguous values each into a panel of `width` values for each
// k: panel[position * width + l] = x[l * lane + k], position = positions ? positions[k] : k. Lanes past `lanes` become +0.
template <class T>
using TransposePanel = void (*)(const T* x, Index lane, int lanes, Index k_count, const std::uint32_t* positions, T* panel,
                                int width);
// The same from rows of contiguous lanes: panel[position * width + l] = x[l + k * k_stride].
template <class T>
using CopyPanel = void (*)(const T* x, Index k_stride, int lanes, Index k_count, const std::uint32_t* positions, T* panel,
                           int width);

template <class T>
struct KernelSet {
  static constexpr int max_rows = 16;
  static constexpr int max_vectors = 8;

  const char* isa = nullptr;
  int width = 0;    // W, values in a vector
  int rows = 0;     // MR of the packed tile
  int vectors = 0;  // NR = vectors * W
  // packed[v][r]: r rows at least, v vectors wide; every 1 <= r <= rows, 1 <= v <= vectors has an entry.
  TileKernel<T> packed[3][max_rows + 1] = {};
  // strided[v][r]: null where r rows of v vectors do not fit the registers.
  TileKernel<T> strided[max_vectors + 1][max_rows + 1] = {};
  // sweep[r]: a row of strided tiles, of r rows (a kernel of r rounded up to 1 or an even number) and two vectors each.
  TileKernel<T> sweep[max_rows + 1] = {};
  // One row and columns_along_k columns, B contiguous along k and b_k from one column to the next; steps of stride 1.
  TileKernel<T> along_k = nullptr;
  const KernelSet* narrow = nullptr;  // kernels of half the width and one vector; null: none
  TransposePanel<T> transpose = nullptr;
  CopyPanel<T> copy = nullptr;

  int columns() const { return vectors * width; }
};

// Null when this build does not have the instruction set.
template <class T>
const KernelSet<T>* portable_kernels();
template <class T>
const KernelSet<T>* avx2_kernels();
template <class T>
const KernelSet<T>* avx512_kernels();

}  // namespace samebits::cpu
