// SPDX-License-Identifier: Apache-2.0
// Compiled without sanitizers in every build: they may not watch a stack being exchanged.
#include "cuda/host/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

// Null unless the sanitizer is linked.
extern "C" {
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* object);
[[gnu::weak]] void __tsan_release(void* object);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** save, const void* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* save, const void** bottom, std::size_t* size);
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* address, std::size_t size);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* address, std::size_t size);
}

namespace samebits::cuda::sim {
namespace {

constexpr std::size_t stack_bytes = 128 * 1024;
constexpr unsigned no_sync = 1;  // a switch of fibers orders nothing: only barriers do

Fiber* running = nullptr;
void* scheduler_context = nullptr;
void* scheduler_fiber = nullptr;  // ThreadSanitizer's
const void* scheduler_stack = nullptr;
std::size_t scheduler_stack_bytes = 0;

#if defined(__x86_64__)
// Saves the callee-saved registers on this stack, its pointer in *from, and takes `to` up again.
extern "C" void samebits_sim_switch(void** from, void* to);
asm(R"(
.text
.globl samebits_sim_switch
.hidden samebits_sim_switch
.type samebits_sim_switch, @function
samebits_sim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size samebits_sim_switch, .-samebits_sim_switch
)");

void* prepare(void* stack, void (*run)(), void*) {
  auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack) + stack_bytes);
  *--top = 0;  // run() never returns; this keeps the stack aligned as after a call
  *--top = reinterpret_cast<std::uintptr_t>(run);
  for (int i = 0; i < 6; ++i) *--top = 0;
  return top;
}
void exchange(void** from, void* to) { samebits_sim_switch(from, to); }
void dispose(void*) {}
#else
void* prepare(void* stack, void (*run)(), void* old) {
  auto* context = old ? static_cast<ucontext_t*>(old) : new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = stack_bytes;
  context->uc_link = nullptr;
  makecontext(context, run, 0);
  return context;
}
void exchange(void** from, void* to) {
  if (!*from) *from = new ucontext_t;
  swapcontext(static_cast<ucontext_t*>(*from), static_cast<ucontext_t*>(to));
}
void dispose(void* context) { delete static_cast<ucontext_t*>(context); }
#endif

}  // namespace

Fiber::Fiber() {
  stack_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
}

Fiber::~Fiber() {
  allow(stack_, stack_bytes);
  munmap(stack_, stack_bytes);
  dispose(context_);
  if (thread_sanitizer_) __tsan_destroy_fiber(thread_sanitizer_);
}

void Fiber::start(void (*entry)()) {
  allow(stack_, stack_bytes);
  if (__tsan_create_fiber && (!thread_sanitizer_ || !finished_)) {
    if (thread_sanitizer_) __tsan_destroy_fiber(thread_sanitizer_);
    thread_sanitizer_ = __tsan_create_fiber(0);
  }
  entry_ = entry;
  finished_ = false;
  context_ = prepare(stack_, &Fiber::run, context_);
}

void Fiber::resume() {
  running = this;
  void* save = nullptr;
  if (__tsan_switch_to_fiber) {
    scheduler_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(thread_sanitizer_, no_sync);
  }
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&save, stack_, stack_bytes);
  exchange(&scheduler_context, context_);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(save, nullptr, nullptr);
}

void Fiber::switch_out(bool last) {
  void* save = nullptr;
  if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(scheduler_fiber, no_sync);
  if (__sanitizer_start_switch_fiber)
    __sanitizer_start_switch_fiber(last ? nullptr : &save, scheduler_stack, scheduler_stack_bytes);
  exchange(&context_, scheduler_context);
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(save, &scheduler_stack, &scheduler_stack_bytes);
}

void Fiber::suspend() { running->switch_out(false); }

void Fiber::run() {
  if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
  running->entry_();
  running->finished_ = true;
  running->switch_out(true);
}

void release(void* object) {
  if (__tsan_release) __tsan_release(object);
}
void acquire(void* object) {
  if (__tsan_acquire) __tsan_acquire(object);
}
void forbid(const void* address, std::size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(address, bytes);
}
void allow(const void* address, std::size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(address, bytes);
}

}  // namespace samebits::cuda::sim
