// SPDX-License-Identifier: Apache-2.0
// A program, executed on trees in place of tiles, gives back the tree that it was compiled from.
#include <gtest/gtest.h>

#include <bit>

#include "order/random.h"

using namespace samebits;

namespace {

// Tiles are nodes of a tree that grows.
Tree execute(const Program& program) {
  Tree tree;
  tree.k = program.k;
  tree.ks = program.permutation;
  auto add = [&](Node node) {
    node.wide = program.wide;
    tree.nodes.push_back(std::move(node));
    return Item{.node = static_cast<std::uint32_t>(tree.nodes.size() - 1)};
  };
  std::vector<Item> stack;
  Item tile;
  std::size_t deepest = 0;
  for (const Run& run : program.runs) {
    Node node;
    if (run.start == Run::Start::resume) node.items.push_back(tile);
    node.start_negative = run.start == Run::Start::negative_zero;
    if (run.length) node.items.push_back({.begin = run.begin, .count = run.length, .op = run.op});
    tile = add(std::move(node));
    for (std::uint32_t i = 0; i < run.merges; ++i) {
      EXPECT_FALSE(stack.empty());
      tile = add(Node{{stack.back(), tile}});
      stack.pop_back();
    }
    if (run.push) stack.push_back(tile);
    deepest = std::max(deepest, stack.size());
  }
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(deepest, program.depth);
  tree.root = program.runs.empty() ? add({}).node : tile.node;
  return tree;
}

void expect_program(const Tree& tree) {
  const Program program = compile(tree);
  EXPECT_EQ(execute(program).hash(), tree.hash()) << tree.text();
  EXPECT_LE(program.depth, std::bit_width(tree.k)) << tree.text();
  std::uint32_t position = 0;
  bool identity = true;
  for (std::uint32_t p = 0; p < tree.k; ++p) identity &= program.permutation[p] == p;
  EXPECT_EQ(program.identity, identity);
  for (const Run& run : program.runs) {
    EXPECT_EQ(run.begin, position);
    position += run.length;
  }
  EXPECT_EQ(position, tree.k);
}

TEST(Program, RandomTrees) {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 2000; ++i) {
    Tree tree = order::random_tree(rng, static_cast<std::uint32_t>(rng() % 300), rng() % 2 ? Op::fma : Op::mul);
    if (rng() % 2)
      for (Node& node : tree.nodes)
        for (Item& item : node.items)
          if (rng() % 8 == 0 && !item.is_node()) item.op = item.op == Op::fma ? Op::mul : Op::fma;
    expect_program(tree);
  }
}

TEST(Program, RandomOrders) {
  std::mt19937_64 rng(4);
  for (int i = 0; i < 2000; ++i) {
    const auto k = static_cast<std::uint32_t>(rng() % 200);
    const Order order = order::random_order(rng, k, {.explicit_tree = true});
    SCOPED_TRACE(order.text());
    expect_program(order.tree(k));
  }
}

TEST(Program, CombsAndReversedChains) {
  // 0 + (1 + (2 + ...)), deep to the right, and its mirror.
  const std::uint32_t k = 5000;
  std::string right = "tree(0", left = "fma";
  for (std::uint32_t i = 1; i < k; ++i) right += " + (" + std::to_string(i);
  right += std::string(k, ')') + " > ";
  for (const char* op : {"fma", "mul"}) {
    const Tree tree = Order::parse(right + op).tree(k);
    expect_program(tree);
    EXPECT_LE(compile(tree).depth, 1u);
  }
  expect_program(Order::parse("reverse > fma").tree(k));
  expect_program(Order::parse("reverse > chunks(1) > mul").tree(k));
  expect_program(Order::parse("pairwise(1) > fma").tree(4096));
  EXPECT_EQ(compile(Order::parse("pairwise(1) > fma").tree(4096)).depth, 12u);
}

TEST(Program, Runs) {
  auto runs = [](std::string_view order, std::size_t k) { return compile(Order::parse(order).tree(k)).runs; };
  EXPECT_EQ(runs("fma", 100).size(), 1u);
  const auto chunks = runs("chunks(4) > fma", 10);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_TRUE(chunks[0].push);
  EXPECT_EQ(chunks[1].merges, 1u);
  EXPECT_TRUE(chunks[1].push);
  EXPECT_EQ(chunks[2].merges, 1u);
  EXPECT_EQ(chunks[2].length, 2u);
  // The tail goes on with the tile of the last merge; another op opens a new run.
  const auto tail = runs("lanes(2, fold=left, tail=chain, tailop=mul) > fma", 5);
  ASSERT_EQ(tail.size(), 3u);
  EXPECT_EQ(tail[2].start, Run::Start::resume);
  EXPECT_EQ(tail[2].op, Op::mul);
  // A tail on lane 0 only makes its chain longer.
  EXPECT_EQ(runs("lanes(2, fold=left, tail=lane0) > fma", 5).size(), 2u);
}

TEST(Program, WhatIsNone) {
  auto program = [](std::string_view order, std::size_t k) { return is_program(Order::parse(order).tree(k)); };
  EXPECT_TRUE(program("f64 > split(2) > fma", 8));
  EXPECT_TRUE(compile(Order::parse("f64 > split(2) > fma").tree(8)).wide);
  EXPECT_FALSE(program("split(2) > f64 > fma", 8));
  EXPECT_FALSE(program("f64 > mul(round=f32)", 8));
  EXPECT_FALSE(program("mma(4,24)", 8));
  EXPECT_FALSE(program("exact", 8));
  EXPECT_FALSE(program("out(bf16) > split(2, partial=out) > fma", 8));
  EXPECT_FALSE(program("lanes(2, fold=left, tail=sum, tailop=f64mul) > fma", 5));
  EXPECT_TRUE(program("lanes(2, fold=left, tail=sum, tailop=f64mul) > fma", 4));
  EXPECT_THROW(compile(Order::parse("exact").tree(3)), Error);
}

}  // namespace
