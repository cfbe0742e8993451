// SPDX-License-Identifier: Apache-2.0
// A program cut into blocks of K, each a list of steps for a kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpu/kernel.h"
#include "samebits/tree.h"

namespace samebits::cpu {

struct Block {
  std::uint32_t begin = 0, end = 0;  // packed positions
  std::uint32_t first_step = 0, steps = 0;
  std::uint32_t entries = 0;  // tiles on the stack when the block begins
  bool seeded = false;        // a step of it starts from the seed
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<Block> blocks;       // at least one
  std::uint32_t kept_entries = 0;  // stack entries that a tile needs between two blocks
  std::uint32_t depth = 0;         // greatest number of entries
  // Where the program is one of pieces: for each, the number of steps up to its end.
  std::vector<std::uint32_t> piece_ends;
};

// Blocks of at most `kc` positions; where a block may end anywhere in its second half, it ends where the fewest tiles must
// be kept. Packed: steps count positions from the block's first. In place: steps count k itself, and the runs of the program
// must have constant strides (see `constant_strides`). `piece_ends`: Pieces::ends, where the pieces are wanted.
Schedule make_schedule(const Program& program, std::uint32_t kc, bool packed,
                       std::span<const std::uint32_t> piece_ends = {});

bool constant_strides(const Program& program);

}  // namespace samebits::cpu
