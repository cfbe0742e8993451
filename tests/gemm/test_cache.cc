// SPDX-License-Identifier: Apache-2.0
// gemm without a plan keeps plans: a call that finds one gives the same bits and the same errors as one that does not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "reference/reference.h"
#include "samebits/gemm.h"

namespace samebits {
namespace {

struct Product {
  Index m, n, k;
  std::vector<float> a, b, c, expected;

  Product(Index m_, Index n_, Index k_) : m(m_), n(n_), k(k_), a(m * k), b(k * n), c(m * n), expected(m * n) {
    std::mt19937 random(static_cast<unsigned>(m + 31 * n + 1009 * k));
    std::normal_distribution<float> normal;
    for (float& x : a) x = normal(random);
    for (float& x : b) x = normal(random);
  }
  void run(const Order& order, const Context& context = {}) {
    std::fill(c.begin(), c.end(), -1.0f);
    gemm(1.0f, row_major<const float>(a.data(), m, k), row_major<const float>(b.data(), k, n), 0.0f,
         row_major(c.data(), m, n), order, context);
  }
  bool right(const Order& order) {
    reference::gemm<float>(1, row_major<const float>(a.data(), m, k), row_major<const float>(b.data(), k, n), 0,
                           row_major(expected.data(), m, n), order);
    return c == expected;
  }
};

// More keys than the cache holds, round after round, on several threads.
TEST(PlanCache, SameBits) {
  const auto work = [] {
    const std::vector<Order> orders = {Order(), Order::parse("mul"), Order::parse("chunks(4) > fma"), Order::parse("exact"),
                                       Order::parse("regions(rows=0:2: mul; rest: fma)")};
    for (int round = 0; round < 3; ++round)
      for (const Order& order : orders)
        for (const Index n : {5, 7, 40})
          for (const std::string isa : {"", "portable"}) {
            Product p(6, n, 12);
            for (int twice = 0; twice < 2; ++twice) {
              p.run(order, {.threads = 1 + round % 2, .isa = isa});
              EXPECT_TRUE(p.right(order)) << order.text() << " " << n << " " << isa;
            }
          }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
}

// An order freed and another made, perhaps at the same address.
TEST(PlanCache, OrdersThatComeAndGo) {
  Product p(5, 5, 64);
  for (int i = 0; i < 40; ++i) {
    const Order order = Order::parse(i % 2 ? "pairwise(8) > fma" : "lanes(4) > mul");
    p.run(order);
    EXPECT_TRUE(p.right(order));
  }
}

TEST(PlanCache, SameErrors) {
  const Order wrong_k = Order::parse("chunks(3,4) > fma"), regions = Order::parse("regions(rows=0:9: mul; rest: fma)");
  Product p(4, 4, 8), good(4, 4, 7);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(p.run(wrong_k), Error);
    good.run(wrong_k);
    EXPECT_TRUE(good.right(wrong_k));
    EXPECT_THROW(p.run(regions), Error);
    EXPECT_THROW(p.run({}, {.threads = -1}), Error);
    EXPECT_THROW(p.run({}, {.isa = "sse9"}), Error);
    p.run({});
    EXPECT_TRUE(p.right({}));
    // The arguments of a call are checked on every call.
    EXPECT_THROW(gemm(1.0f, row_major<const float>(p.c.data(), 4, 8), row_major<const float>(p.b.data(), 8, 4), 0.0f,
                      row_major(p.c.data(), 4, 4)),
                 Error);
  }
}

TEST(PlanCache, TheEnvironmentOfEachCall) {
  Product p(3, 3, 3);
  p.run({});
  setenv("SAMEBITS_ISA", "nonsense", 1);
  EXPECT_THROW(p.run({}), Error);
  p.run({}, {.isa = "portable"});
  unsetenv("SAMEBITS_ISA");
  p.run({});
  EXPECT_TRUE(p.right({}));
  for (const char* text : {"two", "0", "-3", "2x", " 2", "-99999999999999999999"}) {
    setenv("SAMEBITS_NUM_THREADS", text, 1);
    EXPECT_THROW(p.run({}), Error) << text;
    EXPECT_NO_THROW(p.run({}, {.threads = 1}));
  }
  for (const char* text : {"2", "", "99999999999999999999"}) {
    setenv("SAMEBITS_NUM_THREADS", text, 1);
    EXPECT_NO_THROW(p.run({})) << text;
  }
  unsetenv("SAMEBITS_NUM_THREADS");
}

}  // namespace
}  // namespace samebits
