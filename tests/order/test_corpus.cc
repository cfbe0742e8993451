// SPDX-License-Identifier: Apache-2.0
// The fuzzer's corpus, whole and damaged: a short regression run of tests/fuzz/fuzz_order.cc.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "order/check_text.h"

using namespace samebits;

namespace {

TEST(Corpus, OrdersWholeAndDamaged) {
  std::ifstream file(SAMEBITS_TEST_DATA "/orders.txt");
  ASSERT_TRUE(file);
  std::mt19937_64 rng(8);
  std::string line, before = "fma";
  int lines = 0;
  for (; std::getline(file, line); ++lines, before = line) {
    EXPECT_EQ(order::check_text(line), "") << line;
    for (int i = 0; i < 40; ++i) {
      std::string damaged = line;
      const std::size_t at = damaged.empty() ? 0 : rng() % damaged.size();
      switch (rng() % 5) {
        case 0:
          damaged.resize(at);
          break;
        case 1:
          damaged.erase(at, 1 + rng() % 8);
          break;
        case 2:
          damaged.insert(at, damaged.substr(rng() % (at + 1), 1 + rng() % 12));
          break;
        case 3:
          damaged.insert(at, 1, static_cast<char>(rng() % 256));
          break;
        default:
          damaged = damaged.substr(0, at) + before.substr(rng() % before.size());
          break;
      }
      EXPECT_EQ(order::check_text(damaged), "") << damaged;
    }
  }
  EXPECT_GT(lines, 200);
}

TEST(Corpus, HugeRequestsAreRefusedBeforeTheyAreMade) {
  for (const char* text :
       {"tree([0..4000000000]) > fma", "tree([0..16777215] + [0..16777215]) > fma", "lanes(4000000000) > fma",
        "chunks(18446744073709551615) > fma", "split(9999999999) > fma", "mma(65535,9999) > fma"})
    EXPECT_THROW(Order::parse(text), Error) << text;
  EXPECT_THROW(Order().tree(std::size_t{1} << 32), Error);
  // Deep nesting is no recursion.
  const std::size_t depth = 200000;
  EXPECT_THROW(Order::parse("tree(" + std::string(depth, '(')), Error);
  const Order nested = Order::parse("tree(" + std::string(depth, '(') + "0" + std::string(depth, ')') + ") > fma");
  EXPECT_EQ(nested.text(), "tree(0) > fma");
  std::string stages;
  for (int i = 0; i < 10000; ++i) stages += "reverse > ";
  EXPECT_THROW(Order::parse(stages + "fma"), Error);
}

}  // namespace
