// SPDX-License-Identifier: Apache-2.0
// Runs CUDA kernels on the CPU, one fiber a thread, blocks one after another. It stops at what a GPU would let pass or
// answer with wrong numbers: a barrier that not all threads reach, a warp instruction that lanes reach at different places,
// a misaligned vector access, an access past the end of shared memory. docs/cuda.md says what it cannot see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "samebits/error.h"

namespace samebits::cuda::sim {

struct Options {
  int architecture = 80;         // compute capability * 10: decides the block of mma.sync
  bool late_copies = true;       // cp.async lands at the wait that asks for it, and its target holds NaN until then; else at once
  bool reverse_blocks = false;   // last block first
  bool reverse_threads = false;  // last thread first
  bool count_banks = false;      // fill Report::shared
};

// Shared-memory accesses of whole warps from one source line.
struct SharedAccess {
  std::string where;          // "simt.cuh:87"
  std::uint64_t warps = 0;    // warp instructions
  std::uint64_t phases = 0;   // 128-byte phases that they need at least
  std::uint64_t replays = 0;  // phases added by bank conflicts
};

struct Report {
  std::vector<SharedAccess> shared;
};

// Throws Error(internal) with "KIND: what happened, where", KIND one of: divergent barrier, divergent warp, deadlock,
// misaligned access, shared memory out of bounds.
Report launch_raw(void (*entry)(const void*), const void* arguments, int blocks, int threads, std::size_t shared_bytes,
                  const Options& options);

template <class Arguments>
Report launch(void (*kernel)(Arguments), const Arguments& arguments, int blocks, int threads, std::size_t shared_bytes,
              const Options& options = {}) {
  struct Call {
    void (*kernel)(Arguments);
    const Arguments* arguments;
  } call{kernel, &arguments};
  return launch_raw([](const void* c) { static_cast<const Call*>(c)->kernel(*static_cast<const Call*>(c)->arguments); }, &call,
                    blocks, threads, shared_bytes, options);
}

// What device code calls; see host/device.h.
using Site = std::source_location;
struct Position {
  int thread = 0, block = 0, blocks = 0, threads = 0;
};
extern Position position;
unsigned char* shared_memory();
void barrier(const Site& site);
// Checks alignment and shared-memory bounds and notes the access for the bank count.
void access(const void* address, int bytes, const Site& site);
void copy_async(void* target, const void* source, int bytes, int valid, const Site& site);
void copy_commit();
void copy_wait(int pending);
// All 32 lanes bring their operands; the last to arrive runs `work` on them, then all go on.
void warp_collective(void* operands, void (*work)(void* const* lanes), const Site& site);
int architecture();

}  // namespace samebits::cuda::sim
