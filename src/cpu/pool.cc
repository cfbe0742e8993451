// SPDX-License-Identifier: Apache-2.0
#include "cpu/pool.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "cpu/blocking.h"
#include "reference/float_environment.h"

namespace samebits::cpu {
namespace {

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Workers wait for the next job by spinning for a while (a product of 64^3 takes 5 us, waking a sleeping thread 50), then
// asleep.
constexpr auto spin_time = std::chrono::microseconds(100);

class Pool {
 public:
  void run(int parts, void (*part)(void*, int), void* context) {
    const std::unique_lock<std::mutex> lock(in_use_, std::try_to_lock);
    if (!lock.owns_lock()) {
      for (int i = 0; i < parts; ++i) part(context, i);
      return;
    }
    start_workers(parts - 1);
    part_ = part, context_ = context, parts_ = parts, blocking_ = &blocking();
    error_ = nullptr;
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    jobs_.fetch_add(1);
    if (sleepers_.load() > 0) jobs_.notify_all();
    take_parts();
    // A worker that wakes late finds the job closed; those inside finish the parts that they took.
    open_.store(false);
    for (int spins = 0; inside_.load() != 0; ++spins) spins < 10000 ? pause() : std::this_thread::yield();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void start_workers(int n) {
    try {
      for (; workers_ < n; ++workers_) std::thread([this, id = workers_ + 1] { work(id); }).detach();
    } catch (const std::system_error&) {
      // Fewer threads: the parts are taken all the same.
    }
  }

  void take_parts() {
    for (int i; (i = next_.fetch_add(1)) < parts_;) {
      try {
        part_(context_, i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(error_lock_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  void work(int id) {
    const FloatEnvironment environment;
    for (unsigned seen = jobs_.load();;) {
      inside_.fetch_add(1);
      if (open_.load() && id < parts_) {
        override_blocking(blocking_);
        take_parts();
      }
      inside_.fetch_sub(1);
      wait(seen);
    }
  }

  void wait(unsigned& seen) {
    const auto until = std::chrono::steady_clock::now() + spin_time;
    while (jobs_.load(std::memory_order_acquire) == seen) {
      for (int i = 0; i < 64 && jobs_.load(std::memory_order_relaxed) == seen; ++i) pause();
      if (std::chrono::steady_clock::now() < until) continue;
      sleepers_.fetch_add(1);
      jobs_.wait(seen);
      sleepers_.fetch_sub(1);
    }
    seen = jobs_.load();
  }

  std::mutex in_use_;
  int workers_ = 0;

  // The job: written while it is closed and nobody is inside.
  void (*part_)(void*, int) = nullptr;
  void* context_ = nullptr;
  int parts_ = 0;
  const Blocking* blocking_ = nullptr;
  std::mutex error_lock_;
  std::exception_ptr error_;

  std::atomic<int> next_{0};
  std::atomic<bool> open_{false};
  alignas(64) std::atomic<unsigned> jobs_{0};
  std::atomic<int> sleepers_{0};
  alignas(64) std::atomic<int> inside_{0};
};

// Never destroyed: its threads end with the process. A forked child has none of them, so it gets a new pool.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  static const bool registered = [] {
    pool.store(new Pool);
    pthread_atfork(nullptr, nullptr, [] { pool.store(new Pool); });
    return true;
  }();
  static_cast<void>(registered);
  return *pool.load();
}

}  // namespace

void run_parts(int parts, void (*part)(void*, int), void* context) {
  the_pool().run(parts, part, context);
}

}  // namespace samebits::cpu
