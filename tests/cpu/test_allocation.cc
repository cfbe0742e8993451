// SPDX-License-Identifier: Apache-2.0
// A plan that has run once runs again without allocation.
#include <atomic>
#include <cstdlib>
#include <new>

#include "cpu/blocking.h"
#include "cpu/problem.h"

namespace {
std::atomic<int> allocations{0};
}

// Out of line: inlined, free() here meets `new` elsewhere, which gcc takes for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size != 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}

namespace samebits::test {
namespace {

TEST(Allocation, NoneOnceAPlanHasRun) {
  cpu::Blocking sizes = cpu::blocking();
  sizes.thread_work = 1;  // two threads, however small
  cpu::override_blocking(&sizes);
  const Index shapes[][3] = {{6, 7, 5}, {1, 90, 70}, {70, 1, 90}, {65, 70, 300}};
  for (const char* order :
       {"fma", "chunks(16) > mul", "pairwise(8) > fma", "f64 > chunks(20) > fma", "split(2) > f64 > fma", "bf16(rne) > fma",
        "epilogue(alpha=block, c=first) > chunks(9) > fma", "regions(rows=1:2: mul; cols=2:3: fma; rest: chunks(30) > fma)"})
    for (const auto& [m, n, k] : shapes)
      for (int threads = 1; threads <= 2; ++threads) {
        if (order[0] == 'r' && std::min(m, n) < 4) continue;  // rows and columns unevenly spaced, so gathered
        const Problem<float> p{.order = order, .m = m, .n = n, .k = k, .a = Layout::columns, .bias_stride = 1};
        Operands<float> x(p);
        x.c.fill([] { return 1.0f; });
        const Plan<float> plan(Order::parse(order), m, n, k, {.threads = threads});
        const auto run = [&] {
          plan.run(2, x.a_view(), x.b_view(), 0.5f, x.c.view(), x.bias_view());
          plan.run(1, x.a_view(), x.b_view(), 0, x.c.view());
        };
        run();
        const int before = allocations.load();
        ASSERT_GT(before, 0);
        run();
        EXPECT_EQ(allocations.load(), before)
            << order << ", " << m << " x " << n << " x " << k << ", " << threads << " threads";
      }
  cpu::override_blocking(nullptr);
}

}  // namespace
}  // namespace samebits::test
