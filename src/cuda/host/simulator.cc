// SPDX-License-Identifier: Apache-2.0
// Compiled without sanitizers in every build, see fiber.cc. What it writes for a kernel goes through memcpy and memset, which
// the sanitizers intercept all the same.
#include "cuda/host/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "cuda/host/fiber.h"

namespace samebits::cuda::sim {

Position position;

namespace {

constexpr int warp_size = 32;
constexpr std::size_t guard_bytes = 4096;  // on both sides of shared memory
constexpr unsigned char guard_byte = 0xa5;

struct Copy {
  void* target;
  const void* source;
  int bytes, valid;
};

struct Access {
  Site site;
  std::size_t offset;
  int bytes;
};

struct Thread {
  Fiber fiber;
  enum class State { ready, at_barrier, at_warp } state = State::ready;
  Site site;
  std::vector<Copy> copies;          // issued, not landed
  std::vector<std::size_t> groups;   // number of copies before each commit
  std::vector<Access> accesses;
};

struct Warp {
  void* operands[warp_size];
  int arrived = 0;
  Site site;
};

struct Machine {
  Options options;
  void (*entry)(const void*) = nullptr;
  const void* arguments = nullptr;
  std::size_t shared_bytes = 0;
  unsigned char* shared = nullptr;
  std::deque<Thread> threads;
  std::vector<Warp> warps;
  int at_barrier = 0;
  Site barrier_site;
  std::deque<char> generations;  // one object for each barrier passed: a single one would order too much
  char block_begins = 0, block_ended = 0;  // what threads synchronise on, with the scheduler only
  std::string failure;
  std::map<std::string, SharedAccess> counted;
};

std::mutex one_launch;
Machine* machine = nullptr;

std::string where(const Site& site) {
  std::string_view file = site.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), site.line());
}

Thread& self() { return machine->threads[position.thread]; }

// Ends the launch: no fiber is resumed any more.
void fail(std::string message) {
  machine->failure = std::move(message);
  for (;;) Fiber::suspend();
}

bool same(const Site& x, const Site& y) { return x.line() == y.line() && x.file_name() == y.file_name(); }

// Adds up the accesses that the lanes of each warp made since the last barrier, lane by lane in the order made.
void count_banks() {
  const int n = position.threads;
  for (int first = 0; first < n; first += warp_size) {
    const int last = std::min(n, first + warp_size);
    std::size_t length = machine->threads[first].accesses.size();
    for (int t = first; t < last; ++t) length = std::min(length, machine->threads[t].accesses.size());
    for (std::size_t i = 0; i < length; ++i) {
      const Access& lead = machine->threads[first].accesses[i];
      auto& sum = machine->counted[where(lead.site)];
      sum.where = where(lead.site);
      ++sum.warps;
      // A phase serves 128 bytes: 32 lanes of 4 bytes, 16 of 8, 8 of 16.
      const int lanes = 128 / std::max(4, lead.bytes);
      for (int begin = first; begin < last; begin += lanes) {
        std::map<std::size_t, std::vector<std::size_t>> banks;  // bank -> different words wanted
        for (int t = begin; t < std::min(last, begin + lanes); ++t)
          for (int word = 0; word < lead.bytes / 4; ++word) {
            const std::size_t address = machine->threads[t].accesses[i].offset / 4 + word;
            auto& words = banks[address % 32];
            if (std::find(words.begin(), words.end(), address) == words.end()) words.push_back(address);
          }
        std::size_t ways = 1;
        for (auto& [bank, words] : banks) ways = std::max(ways, words.size());
        ++sum.phases;
        sum.replays += ways - 1;
      }
    }
  }
  for (auto& thread : machine->threads) thread.accesses.clear();
}

void pass_barrier() {
  if (machine->options.count_banks) count_banks();
  machine->at_barrier = 0;
  machine->generations.emplace_back();
  for (auto& thread : machine->threads)
    if (thread.state == Thread::State::at_barrier) thread.state = Thread::State::ready;
}

void land(const Copy& copy) {
  std::memcpy(copy.target, copy.source, static_cast<std::size_t>(copy.valid));
  std::memset(static_cast<char*>(copy.target) + copy.valid, 0, static_cast<std::size_t>(copy.bytes - copy.valid));
}

void run_thread() {
  acquire(&machine->block_begins);
  machine->entry(machine->arguments);
  release(&machine->block_ended);
}

void check_guards() {
  for (const unsigned char* guard : {machine->shared - guard_bytes, machine->shared + machine->shared_bytes})
    for (std::size_t i = 0; i < guard_bytes; ++i)
      if (guard[i] != guard_byte)
        throw Error(Code::internal, fmt::format("shared memory out of bounds: written at byte {} of {}",
                                                guard + i - machine->shared, machine->shared_bytes));
}

void run_block() {
  allow(machine->shared - guard_bytes, machine->shared_bytes + 2 * guard_bytes);
  std::memset(machine->shared - guard_bytes, guard_byte, machine->shared_bytes + 2 * guard_bytes);
  std::memset(machine->shared, 0xff, machine->shared_bytes);  // all NaN
  forbid(machine->shared - guard_bytes, guard_bytes);
  forbid(machine->shared + machine->shared_bytes, guard_bytes);
  release(&machine->block_begins);
  machine->generations.assign(1, 0);
  machine->at_barrier = 0;
  for (auto& warp : machine->warps) warp.arrived = 0;
  for (auto& thread : machine->threads) {
    thread.state = Thread::State::ready;
    thread.copies.clear();
    thread.groups.clear();
    thread.fiber.start(&run_thread);
  }
  const int n = position.threads;
  for (int unfinished = n; unfinished > 0;) {
    bool progress = false;
    for (int i = 0; i < n; ++i) {
      const int t = machine->options.reverse_threads ? n - 1 - i : i;
      auto& thread = machine->threads[t];
      if (thread.fiber.finished() || thread.state != Thread::State::ready) continue;
      position.thread = t;
      progress = true;
      thread.fiber.resume();
      if (!machine->failure.empty()) throw Error(Code::internal, machine->failure);
      if (thread.fiber.finished()) --unfinished;
    }
    if (progress) continue;
    std::map<std::string, int> waiting;
    for (auto& thread : machine->threads)
      if (!thread.fiber.finished())
        ++waiting[(thread.state == Thread::State::at_barrier ? "the barrier at " : "the warp instruction at ") + where(thread.site)];
    std::string text;
    for (auto& [what, count] : waiting) text += fmt::format("{}{} threads wait at {}", text.empty() ? "" : ", ", count, what);
    throw Error(Code::internal, fmt::format("deadlock: {}, {} of {} have ended", text, n - unfinished, n));
  }
  if (machine->options.count_banks) count_banks();
  acquire(&machine->block_ended);
  allow(machine->shared - guard_bytes, machine->shared_bytes + 2 * guard_bytes);
  check_guards();
}

}  // namespace

unsigned char* shared_memory() { return machine->shared; }
int architecture() { return machine->options.architecture; }

void barrier(const Site& site) {
  auto& thread = self();
  if (machine->at_barrier == 0) machine->barrier_site = site;
  if (!same(machine->barrier_site, site))
    fail(fmt::format("divergent barrier: thread {} at {}, others at {}", position.thread, where(site), where(machine->barrier_site)));
  thread.site = site;
  char* generation = &machine->generations.back();
  release(generation);
  thread.state = Thread::State::at_barrier;
  if (++machine->at_barrier == position.threads) {
    pass_barrier();
  } else {
    Fiber::suspend();
  }
  acquire(generation);
}

void access(const void* address, int bytes, const Site& site) {
  const auto* p = static_cast<const unsigned char*>(address);
  if (reinterpret_cast<std::uintptr_t>(p) % static_cast<unsigned>(bytes) != 0)
    fail(fmt::format("misaligned access: {} bytes at {}, thread {}", bytes, where(site), position.thread));
  const auto* begin = machine->shared;
  const auto* end = begin + machine->shared_bytes;
  if (p < begin - guard_bytes || p >= end + guard_bytes) return;  // global
  if (p < begin || p + bytes > end)
    fail(fmt::format("shared memory out of bounds: byte {} of {} at {}, thread {}", p - begin, machine->shared_bytes, where(site),
                     position.thread));
  if (machine->options.count_banks) self().accesses.push_back({site, static_cast<std::size_t>(p - begin), bytes});
}

void copy_async(void* target, const void* source, int bytes, int valid, const Site& site) {
  access(target, bytes, site);
  if (valid > 0 && reinterpret_cast<std::uintptr_t>(source) % static_cast<unsigned>(bytes) != 0)
    fail(fmt::format("misaligned access: {} bytes at {}, thread {}", bytes, where(site), position.thread));
  const Copy copy{target, source, bytes, valid};
  if (!machine->options.late_copies) return land(copy);
  std::memset(target, 0xff, static_cast<std::size_t>(bytes));
  self().copies.push_back(copy);
}

void copy_commit() { self().groups.push_back(self().copies.size()); }

void copy_wait(int pending) {
  auto& thread = self();
  const int done = static_cast<int>(thread.groups.size()) - pending;
  if (done <= 0) return;
  const std::size_t landed = thread.groups[static_cast<std::size_t>(done - 1)];
  for (std::size_t i = 0; i < landed; ++i) land(thread.copies[i]);
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + static_cast<std::ptrdiff_t>(landed));
  thread.groups.erase(thread.groups.begin(), thread.groups.begin() + done);
  for (auto& group : thread.groups) group -= landed;
}

void warp_collective(void* operands, void (*work)(void* const* lanes), const Site& site) {
  auto& thread = self();
  const int first = position.thread / warp_size * warp_size;
  auto& warp = machine->warps[static_cast<std::size_t>(position.thread / warp_size)];
  if (warp.arrived == 0) warp.site = site;
  if (!same(warp.site, site))
    fail(fmt::format("divergent warp: thread {} at {}, its warp at {}", position.thread, where(site), where(warp.site)));
  thread.site = site;
  warp.operands[position.thread % warp_size] = operands;
  thread.state = Thread::State::at_warp;
  if (++warp.arrived < warp_size) return Fiber::suspend();
  warp.arrived = 0;
  work(warp.operands);
  for (int t = first; t < first + warp_size; ++t) machine->threads[static_cast<std::size_t>(t)].state = Thread::State::ready;
}

Report launch_raw(void (*entry)(const void*), const void* arguments, int blocks, int threads, std::size_t shared_bytes,
                  const Options& options) {
  std::scoped_lock lock(one_launch);
  Machine launch;
  launch.options = options;
  launch.entry = entry;
  launch.arguments = arguments;
  launch.shared_bytes = (shared_bytes + 15) / 16 * 16;
  launch.threads.resize(static_cast<std::size_t>(threads));
  launch.warps.resize(static_cast<std::size_t>((threads + warp_size - 1) / warp_size));
  constexpr std::size_t alignment = 1024;
  std::unique_ptr<unsigned char[]> memory(new unsigned char[launch.shared_bytes + 2 * guard_bytes + alignment]);
  const auto base = reinterpret_cast<std::uintptr_t>(memory.get()) + guard_bytes;
  launch.shared = memory.get() + guard_bytes + (alignment - base % alignment) % alignment;
  machine = &launch;
  struct Cleanup {
    ~Cleanup() {
      allow(machine->shared - guard_bytes, machine->shared_bytes + 2 * guard_bytes);
      machine = nullptr;
    }
  } cleanup;
  position = {0, 0, blocks, threads};
  for (int i = 0; i < blocks; ++i) {
    position.block = options.reverse_blocks ? blocks - 1 - i : i;
    run_block();
  }
  Report report;
  for (auto& [name, sum] : launch.counted) report.shared.push_back(sum);
  return report;
}

}  // namespace samebits::cuda::sim
