// SPDX-License-Identifier: Apache-2.0
// A coroutine with its own stack, known to AddressSanitizer and ThreadSanitizer when one of them is linked.
#pragma once

#include <cstddef>

namespace samebits::cuda::sim {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void start(void (*entry)());  // entry runs at the next resume(); an earlier, unfinished one is forgotten
  void resume();                // from the scheduler: runs until suspend() or the end of entry
  static void suspend();        // from within: back to the scheduler
  bool finished() const { return finished_; }

 private:
  static void run();
  void switch_out(bool last);

  void* stack_ = nullptr;
  void* context_ = nullptr;
  void* thread_sanitizer_ = nullptr;
  void (*entry_)() = nullptr;
  bool finished_ = true;
};

// Orders what threads did before release(object) before what follows acquire(object), for ThreadSanitizer.
void release(void* object);
void acquire(void* object);
// Bytes that must not be touched, for AddressSanitizer.
void forbid(const void* address, std::size_t bytes);
void allow(const void* address, std::size_t bytes);

}  // namespace samebits::cuda::sim
