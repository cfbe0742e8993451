// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "explain/compare.h"
#include "explain/trace.h"
#include "io/npy.h"

namespace samebits::explain {
namespace {

using Leaves = std::vector<std::uint32_t>;

template <class T>
Trace run(const char* left, const char* right, const std::vector<T>& a, const std::vector<T>& b, std::size_t kept = 6) {
  return trace<T>(Order::parse(left), Order::parse(right), a.data(), b.data(), std::ssize(a), {}, kept);
}

TEST(Trace, TheSameOrderNeverParts) {
  const std::vector<float> a = {0.1f, 0.2f, 0.3f, 0.4f}, b = {1, 2, 3, 4};
  const Trace t = run("chunks(2) > fma", "chunks(2) > fma", a, b);
  EXPECT_TRUE(t.same_tree);
  EXPECT_FALSE(t.differs || t.sum_differs || t.input || t.first_differs || t.parts_at);
  EXPECT_EQ(t.common, 5u);  // 0, 0+1, 2, 2+3, all
}

// One tree, other inputs: the first sum in evaluation order that differs.
TEST(Trace, InputRoundingIsSeenWhereItFirstChangesASum) {
  const std::vector<float> a = {1, 2, 1 + 0x1p-12f, 4}, b = {1, 1, 1, 1};
  const Trace t = run("fma", "tf32(rna) > fma", a, b);
  EXPECT_TRUE(t.same_tree);
  ASSERT_TRUE(t.input);
  EXPECT_EQ(t.input->k, 2u);
  EXPECT_EQ(t.input->left_a, 1 + 0x1p-12);
  EXPECT_EQ(t.input->right_a, 1);
  ASSERT_TRUE(t.first_differs);
  const TraceStep& step = t.steps[*t.first_differs];
  EXPECT_EQ(step.leaves, (Leaves{0, 1, 2}));
  EXPECT_EQ(step.left, 4 + 0x1p-12);
  EXPECT_EQ(step.right, 4);
  EXPECT_EQ(t.steps.back().leaves, (Leaves{0, 1, 2, 3}));
}

// fma and mul form the same sums; they differ where a product is first rounded on its own.
TEST(Trace, FmaAndMulPartInValueNotInLeaves) {
  const float x = 1 + 0x1p-12f;
  const std::vector<float> a = {1, -2, x, 0x1p-12f}, b = {1, 1, x, 1};
  const Trace t = run("fma", "mul", a, b);
  EXPECT_FALSE(t.same_tree);
  EXPECT_FALSE(t.parts_at);
  ASSERT_TRUE(t.first_differs);
  EXPECT_EQ(t.steps[*t.first_differs].leaves, (Leaves{0, 1, 2}));
  EXPECT_TRUE(t.differs);
}

TEST(Trace, DifferentTreesShareTheirCommonSums) {
  // chunks(4): 0, 01, 012, 0123, 4, 45, all. fma: 0 .. 012345.
  const std::vector<float> a = {1, 1, 1, 1, 0x1p-24f, 0x1p-24f}, b = {1, 1, 1, 1, 1, 1};
  const Trace t = run("fma", "chunks(4) > fma", a, b);
  EXPECT_FALSE(t.same_tree);
  EXPECT_EQ(t.common, 5u);
  EXPECT_EQ(t.parts_at, 4u);
  EXPECT_EQ(t.parts_leaves, (Leaves{0, 1, 2, 3, 4}));
  // 4 + 2^-24 + 2^-24 one by one is 4; 4 + 2^-23 is 4 too.
  EXPECT_FALSE(t.first_differs);
  EXPECT_FALSE(t.differs);
}

TEST(Trace, TheSmallestSumThatDiffersComesFirst) {
  const std::vector<float> a = {1, 0x1p-24f, 0x1p-24f, 5}, b = {1, 1, 1, 1};
  const Trace t = run("fma", "tree(0 + (1 + 2) + 3) > fma", a, b);
  ASSERT_TRUE(t.first_differs);
  EXPECT_EQ(t.steps[*t.first_differs].leaves, (Leaves{0, 1, 2}));
  EXPECT_EQ(t.steps[*t.first_differs].left, 1);
  EXPECT_EQ(t.steps[*t.first_differs].right, 1 + 0x1p-23);
  EXPECT_EQ(t.parts_at, 1u);
}

TEST(Trace, TensorCoresAreSeenBlockByBlock) {
  const std::vector<float> a(8, 1), b(8, 1);
  const Trace t = run("tf32(rna) > mma(4,24)", "fma", a, b);
  EXPECT_EQ(t.common, 2u);  // 0..3, 0..7
  EXPECT_FALSE(t.differs);
}

TEST(Trace, WideSumsAreShownInDouble) {
  const std::vector<float> a = {1, 0x1p-30f}, b = {1, 1};
  const Trace t = run("f64 > mul", "mul", a, b);
  ASSERT_TRUE(t.first_differs);
  EXPECT_TRUE(t.steps[*t.first_differs].left_wide);
  EXPECT_FALSE(t.steps[*t.first_differs].right_wide);
  EXPECT_EQ(t.value(1 + 0x1p-30, true), "0x3ff0000000400000 (1.0000000009313226)");
  EXPECT_FALSE(t.differs);  // rounded once, at the end
}

TEST(Trace, TheEpilogueCanMakeTheDifference) {
  const std::vector<float> a = {3}, b = {1};
  const float x = 1 + 0x1p-12f;
  const reference::Scale<float> scale{.alpha = x, .beta = 1, .c = -3, .bias = 0, .has_bias = false};
  const std::vector<float> y = {x};
  const Trace t = trace<float>(Order::parse("epilogue(fused) > fma"), Order{}, y.data(), y.data(), 1, scale);
  EXPECT_TRUE(t.same_tree);
  EXPECT_FALSE(t.sum_differs);
  EXPECT_FALSE(t.first_differs);
  EXPECT_EQ(t.differs, !same_bits(std::fma(x, x * x, -3.0f), x * (x * x) - 3));
  EXPECT_EQ(t.left, std::fma(x, x * x, -3.0f));
}

TEST(Trace, KeepsAFewSumsBeforeTheDifference) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(300), b(300);
  for (auto* x : {&a, &b})
    for (float& v : *x) v = uniform(random);
  const Trace t = run("fma", "mul", a, b, 3);
  EXPECT_EQ(t.common, 300u);
  ASSERT_TRUE(t.first_differs);
  EXPECT_LE(*t.first_differs, 3u);
  EXPECT_LE(t.steps.size(), 5u);
  EXPECT_EQ(t.steps.back().leaves.size(), 300u);
}

// The last accumulator is the result, whatever the order.
TEST(Trace, EndsInTheResult) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> a(37), b(37);
  for (auto* x : {&a, &b})
    for (double& v : *x) v = uniform(random);
  for (const char* order :
       {"mul", "lanes(4, fold=halves) > fma", "pairwise(4) > mul", "split(3) > chunks(5) > fma", "reverse > fma", "exact"}) {
    const Trace t = run(order, "fma", a, b);
    if (!t.first_differs) continue;
    EXPECT_EQ(t.steps.back().leaves.size(), 37u) << order;
    EXPECT_TRUE(same_bits(t.steps.back().left, t.left)) << order;
    EXPECT_TRUE(same_bits(t.steps.back().right, t.right)) << order;
  }
}

// The recorded 5 -> 7 layer: MKL's result against the chain.
TEST(Trace, TextShowsBothSides) {
  const std::vector<float> a = {1, 0x1p-24f, 0x1p-24f, 5}, b = {1, 1, 1, 1};
  const Trace t = run("fma", "tree(0 + (1 + 2) + 3) > fma", a, b);
  EXPECT_EQ(t.text("left", "right"),
            "  3 sums over the same products in both orders\n"
            "  the orders part where left adds k = 1: only it sums 0, 1\n"
            "  equal, k = 0\n"
            "    0x3f800000 (1)\n"
            "  first difference, k = 0 to 2\n"
            "    left   0x3f800000 (1)\n"
            "    right  0x3f800001 (1.0000001)\n"
            "  equal, k = 0 to 3\n"
            "    0x40c00000 (6)\n"
            "  results are equal:\n"
            "    left   0x40c00000 (6)\n"
            "    right  0x40c00000 (6)\n");
}

TEST(Trace, LeavesAreShortened) {
  EXPECT_EQ(leaves_text({3}), "3");
  EXPECT_EQ(leaves_text({0, 1, 2, 3}), "0 to 3");
  EXPECT_EQ(leaves_text({0, 4, 8}), "0, 4, ... 8");
  EXPECT_EQ(leaves_text({0, 4, 5}), "0, 4, 5");
  EXPECT_EQ(leaves_text({0, 1, 2, 3, 4, 5, 6, 7, 9}), "0, 1, 2, 3, 4, 5, ... 9 (9 products)");
}

}  // namespace
}  // namespace samebits::explain
