// SPDX-License-Identifier: Apache-2.0
// Sizes that depend on the CPU. They change the speed, never a bit.
#pragma once

#include <cstdint>
#include <string_view>

namespace samebits::cpu {

struct Blocking {
  std::string_view cpu;
  std::int64_t k_bytes;        // packed: bytes of one row of a panel, in K, that a block has: kc = k_bytes / sizeof
  std::int64_t b_bytes;        // packed: size of the block of B that stays in cache
  std::int64_t a_bytes;        // packed: size of the part of A that is packed at a time
  std::int64_t in_place_work;  // m*n*k up to which A and B are read in place
  std::int64_t skinny;         // m or n up to which the large operand is read in place
  std::int64_t stream_bytes;   // a B in place that is larger than this is streamed in blocks of K
  std::int64_t stream_k;       // of this many values, where it meets at most 8 rows; 32 times as many where more
  std::int64_t thread_work;    // m*n*k that is worth one more thread
  bool split_vectors;          // a 512-bit vector takes the time of two of 256 bits
  std::string_view mul_isa;    // unfused orders run this set unless another is asked for: where 512-bit additions have half
                               // the rate of 512-bit multiply-adds, 256-bit code is faster
};

// For this machine.
const Blocking& blocking();

// Tests only: other sizes than the machine's, for this thread and those that work for it; null: the machine's again.
void override_blocking(const Blocking* sizes);
bool blocking_is_overridden();

}  // namespace samebits::cpu
