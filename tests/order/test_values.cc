// SPDX-License-Identifier: Apache-2.0
// The hash against the bits: equal hashes never give other bits; with one op from +0, other hashes do for some input.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <map>

#include "order/random.h"
#include "reference/reference.h"

using namespace samebits;

namespace {

// Values whose products cancel, round, underflow and have both signs of zero.
float nasty(std::mt19937_64& rng) {
  constexpr float values[] = {0.0f,       1.0f,      3.0f,    0x1.000002p0f,  0x1p-75f,
                              0x1.8p-75f, 0x1p-149f, 0x1p12f, 0x1.fffffep11f, 0x1p-24f};
  const float x = values[rng() % std::size(values)];
  return rng() % 2 ? x : -x;
}

struct Data {
  std::vector<float> a, b;
  Data(std::mt19937_64& rng, std::uint32_t k) {
    for (std::uint32_t i = 0; i < k; ++i) {
      a.push_back(nasty(rng));
      b.push_back(nasty(rng));
    }
  }
  std::uint32_t bits(const Tree& tree) const {
    return std::bit_cast<std::uint32_t>(reference::evaluate<float>(tree, a.data(), b.data()));
  }
};

void disturb(std::mt19937_64& rng, Tree& tree) {
  for (Node& node : tree.nodes) {
    node.start_negative = rng() % 2;
    for (Item& item : node.items)
      if (!item.is_node() && rng() % 2) item.op = item.op == Op::fma ? Op::mul : Op::fma;
  }
}

TEST(Values, CommutedAndPrintedTreesGiveTheSameBits) {
  std::mt19937_64 rng(9);
  for (int i = 0; i < 3000; ++i) {
    const auto k = 1 + static_cast<std::uint32_t>(rng() % 9);
    Tree tree = order::random_tree(rng, k, Op::fma);
    disturb(rng, tree);
    if (rng() % 3 == 0)
      for (Node& node : tree.nodes) node.wide = rng() % 2;
    const Tree other = order::commuted(rng, tree);
    const Tree printed = Order::parse("tree(" + tree.text() + ") > " + (tree.main_op() == Op::fma ? "fma" : "mul")).tree(k);
    for (int j = 0; j < 20; ++j) {
      const Data data(rng, k);
      EXPECT_EQ(data.bits(tree), data.bits(other)) << tree.text();
      EXPECT_EQ(data.bits(tree), data.bits(printed)) << tree.text();
    }
  }
}

TEST(Values, EqualHashesMeanEqualBits) {
  std::mt19937_64 rng(10);
  std::map<Tree::Hash, Tree> trees;
  std::vector<Data> inputs;
  for (int i = 0; i < 500; ++i) inputs.emplace_back(rng, 3);
  int pairs = 0;
  for (int i = 0; i < 5000; ++i) {
    Tree tree = order::random_tree(rng, 3, Op::fma);
    disturb(rng, tree);
    const auto [place, fresh] = trees.emplace(tree.hash(), tree);
    if (fresh) continue;
    ++pairs;
    for (int j = 0; j < 50; ++j) {
      const Data& data = inputs[rng() % inputs.size()];
      ASSERT_EQ(data.bits(tree), data.bits(place->second)) << tree.text() << " and " << place->second.text();
    }
  }
  EXPECT_GT(pairs, 2000);
}

TEST(Values, OtherHashesMeanOtherBitsSomewhere) {
  std::mt19937_64 rng(11);
  for (Op op : {Op::fma, Op::mul}) {
    const std::uint32_t k = op == Op::fma ? 3 : 4;
    std::map<Tree::Hash, Tree> trees;
    for (int i = 0; i < 3000; ++i) {
      const Tree tree = order::random_tree(rng, k, op);
      trees.emplace(tree.hash(), tree);
    }
    EXPECT_EQ(trees.size(), op == Op::fma ? 18u : 15u);
    std::map<std::vector<std::uint32_t>, std::string> by_bits;
    std::vector<Data> inputs;
    for (int i = 0; i < 5000; ++i) inputs.emplace_back(rng, k);
    for (const auto& [hash, tree] : trees) {
      std::vector<std::uint32_t> bits;
      for (const Data& data : inputs) bits.push_back(data.bits(tree));
      const auto [place, fresh] = by_bits.emplace(std::move(bits), tree.text());
      EXPECT_TRUE(fresh) << "same bits: " << tree.text() << " and " << place->second;
    }
  }
}

}  // namespace
