// SPDX-License-Identifier: Apache-2.0
// Random orders: text and back, trees that hold every leaf once, equivalence of an order with its own tree.
#include <gtest/gtest.h>

#include "order/cost.h"
#include "order/random.h"

using namespace samebits;

namespace {

constexpr order::RandomOrder everything{
    .program = false, .mma_and_exact = true, .input = true, .out = true, .epilogue = true, .explicit_tree = true};

void expect_sound(const Tree& tree, std::uint32_t k) {
  ASSERT_EQ(tree.k, k);
  ASSERT_EQ(tree.ks.size(), k);
  std::vector<bool> seen(k);
  for (auto leaf : tree.ks) {
    ASSERT_LT(leaf, k);
    ASSERT_FALSE(seen[leaf]);
    seen[leaf] = true;
  }
  // Each node but the root has one parent, after it; each leaf is in one item.
  std::vector<int> parents(tree.nodes.size());
  std::uint32_t leaves = 0;
  for (std::size_t n = 0; n < tree.nodes.size(); ++n)
    for (const Item& item : tree.nodes[n].items) {
      if (!item.is_node()) {
        ASSERT_GT(item.count, 0u);
        ASSERT_LE(item.begin + item.count, k);
        leaves += item.count;
        continue;
      }
      ASSERT_LT(item.node, n);
      ++parents[item.node];
    }
  EXPECT_EQ(leaves, k);
  for (std::size_t n = 0; n < tree.nodes.size(); ++n) EXPECT_EQ(parents[n], n == tree.root ? 0 : 1);
  // Leaves stand in textual order.
  std::uint32_t next = 0;
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{tree.root, 0}};
  while (!stack.empty()) {
    auto& [node, i] = stack.back();
    if (i == tree.nodes[node].items.size()) {
      stack.pop_back();
      continue;
    }
    const Item& item = tree.nodes[node].items[i++];
    if (item.is_node()) {
      stack.emplace_back(item.node, 0);
    } else {
      EXPECT_EQ(item.begin, next);
      next += item.count;
    }
  }
}

TEST(RandomOrders, TextAndTree) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 5000; ++i) {
    const auto k = static_cast<std::uint32_t>(rng() % (i % 50 == 0 ? 3000 : 70));
    const Order order = order::random_order(rng, k, everything);
    const std::string text = order.text();
    SCOPED_TRACE(text);
    EXPECT_EQ(Order::parse(text).text(), text);
    EXPECT_FALSE(order.describe().empty());
    const Tree tree = order.tree(k);
    expect_sound(tree, k);
    if (HasFatalFailure()) return;
    EXPECT_EQ(order::commuted(rng, tree).hash(), tree.hash());
    EXPECT_EQ(order::commuted(rng, tree).text(), tree.text());
    EXPECT_FALSE(tree.dot().empty());
    order::cost(tree);
  }
}

TEST(RandomOrders, AnOrderIsEquivalentToItsOwnTree) {
  std::mt19937_64 rng(6);
  for (int i = 0; i < 2000; ++i) {
    const auto k = 1 + static_cast<std::uint32_t>(rng() % 60);
    const Order order = order::random_order(rng, k, {.program = false});
    const Tree tree = order.tree(k);
    if (tree.main_op() == Op::mul_f32 || tree.text().find("mul_f32") != std::string::npos)
      continue;  // tree(...) has no such leaf
    const Order written = Order::parse("tree(" + tree.text() + ") > " + (tree.main_op() == Op::fma ? "fma" : "mul"));
    EXPECT_TRUE(equivalent(order, written, k)) << order.text() << "\n" << written.text() << "\n" << written.tree(k).text();
  }
}

TEST(RandomOrders, Regions) {
  std::mt19937_64 rng(7);
  for (int i = 0; i < 500; ++i) {
    const Index rows = 1 + static_cast<Index>(rng() % 20), cols = 1 + static_cast<Index>(rng() % 20);
    const Order order = order::random_regions(rng, rows, cols, 9, everything);
    EXPECT_EQ(Order::parse(order.text()).text(), order.text());
    order.check_shape(rows, cols);
    for (Index r = 0; r < rows; ++r) order.at(r, cols - 1).tree(9);
  }
}

TEST(Cost, OfOrders) {
  auto cost = [](std::string_view order, std::size_t k) { return order::cost(Order::parse(order).tree(k)); };
  EXPECT_EQ(cost("fma", 512).relative_time, 1);
  EXPECT_EQ(cost("chunks(256) > fma", 1024).runs, 4u);
  EXPECT_EQ(cost("chunks(256) > fma", 1024).average_run, 256);
  EXPECT_EQ(cost("pairwise(8) > mul", 1024).depth, 7u);
  // A merge costs 33 cycles and a leaf 12. Measured: 1.25 to 1.35, and 1.03 to 1.08.
  EXPECT_EQ(cost("pairwise(8) > fma", 1024).relative_time, 1 + 127 * 33.0 / (1024 * 12.0));
  EXPECT_EQ(cost("lanes(16, fold=halves, tail=lanes) > fma", 1024).relative_time, 1 + 15 * 33.0 / (1024 * 12.0));
  EXPECT_FALSE(cost("exact", 64).program);
  EXPECT_FALSE(cost("split(2) > exact", 64).why.empty());
}

}  // namespace
