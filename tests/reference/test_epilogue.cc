// SPDX-License-Identifier: Apache-2.0
// Every combination of epilogue(alpha, c, fused), written out.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "explain/compare.h"
#include "reference/reference.h"
#include "reference/trees.h"

namespace samebits {
namespace {

using explain::same_bits;
using Alpha = Epilogue::Alpha;
using C = Epilogue::C;

template <class T>
class EpilogueOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EpilogueOf, Types);

constexpr std::uint32_t k = 6;

// Three pieces of two leaves.
template <class T>
struct Data {
  T a[k], b[k], alpha, beta, c, bias;

  explicit Data(std::mt19937& random) {
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (T* x : {a, b})
      for (std::uint32_t i = 0; i < k; ++i) x[i] = uniform(random);
    alpha = uniform(random), beta = uniform(random), c = uniform(random), bias = uniform(random);
  }
  T piece(int i, T start = 0, T factor = 1) const {
    const T first = std::fma(factor * a[2 * i], b[2 * i], start);
    return std::fma(factor * a[2 * i + 1], b[2 * i + 1], first);
  }
  T sum(T first, T factor = 1) const { return (first + piece(1, 0, factor)) + piece(2, 0, factor); }
};

template <class T>
struct Expected {
  Epilogue epilogue;
  bool alpha_is_one;
  T value;
};

// t for beta != 0.
template <class T>
std::vector<Expected<T>> with_c(const Data<T>& d) {
  const T p0 = d.piece(0), p1 = d.piece(1), p2 = d.piece(2), t = d.sum(p0), c = d.beta * d.c, al = d.alpha;
  return {
      {{Alpha::end, C::last, false}, false, al * t + c},
      {{Alpha::end, C::last, true}, false, std::fma(al, t, c)},
      {{Alpha::end, C::last, false}, true, t + c},
      {{Alpha::end, C::first, false}, true, ((c + p0) + p1) + p2},
      {{Alpha::end, C::seed, false}, true, d.sum(d.piece(0, c))},
      {{Alpha::block, C::last, false}, false, ((al * p0 + al * p1) + al * p2) + c},
      {{Alpha::block, C::last, true}, false, std::fma(al, p2, std::fma(al, p1, al * p0)) + c},
      {{Alpha::block, C::first, false}, false, ((c + al * p0) + al * p1) + al * p2},
      {{Alpha::block, C::first, true}, false, std::fma(al, p2, std::fma(al, p1, std::fma(al, p0, c)))},
      {{Alpha::block, C::first, true}, true, ((c + p0) + p1) + p2},
      {{Alpha::block, C::seed, false}, true, d.sum(d.piece(0, c))},
      {{Alpha::a, C::last, false}, false, d.sum(d.piece(0, 0, al), al) + c},
      {{Alpha::a, C::first, false}, false, ((c + d.piece(0, 0, al)) + d.piece(1, 0, al)) + d.piece(2, 0, al)},
      {{Alpha::a, C::seed, false}, false, d.sum(d.piece(0, c, al), al)},
  };
}

// t for beta = 0, whatever epilogue's c is.
template <class T>
std::vector<Expected<T>> without_c(const Data<T>& d) {
  const T p0 = d.piece(0), p1 = d.piece(1), p2 = d.piece(2), t = d.sum(p0), al = d.alpha;
  return {
      {{Alpha::end, C::last, false}, false, al * t},
      {{Alpha::end, C::last, true}, false, al * t},
      {{Alpha::end, C::first, false}, false, al * t},
      {{Alpha::end, C::seed, false}, false, al * t},
      {{Alpha::block, C::first, false}, false, (al * p0 + al * p1) + al * p2},
      {{Alpha::block, C::first, true}, false, std::fma(al, p2, std::fma(al, p1, al * p0))},
      {{Alpha::a, C::seed, false}, false, d.sum(d.piece(0, 0, al), al)},
  };
}

TYPED_TEST(EpilogueOf, EachCombinationIsItsFormula) {
  using T = TypeParam;
  std::mt19937 random(10);
  const Tree tree = test::chunks(k, 2, Op::fma);
  for (int i = 0; i < 300; ++i) {
    const Data<T> d(random);
    for (const bool has_c : {true, false})
      for (const bool has_bias : {true, false})
        for (const auto& expected : has_c ? with_c(d) : without_c(d)) {
          reference::Scale<T> scale;
          scale.alpha = expected.alpha_is_one ? T(1) : d.alpha;
          scale.beta = has_c ? d.beta : T(0);
          scale.c = has_c ? d.c : T(NAN);
          scale.bias = has_bias ? d.bias : T(NAN);
          scale.has_bias = has_bias;
          const T want = has_bias ? expected.value + d.bias : expected.value;
          const T got = reference::evaluate(tree, expected.epilogue, Format::none, d.a, d.b, scale);
          ASSERT_TRUE(same_bits(got, want))
              << "alpha " << int(expected.epilogue.alpha) << ", c " << int(expected.epilogue.c)
              << (expected.epilogue.fused ? ", fused" : "") << (has_c ? "" : ", beta = 0") << (has_bias ? ", bias" : "");
          const Format out = i % 2 ? Format::bf16 : Format::fp16;
          ASSERT_TRUE(same_bits(reference::evaluate(tree, expected.epilogue, out, d.a, d.b, scale),
                                reference::round_to(out, Rounding::rne, want)));
        }
  }
}

TYPED_TEST(EpilogueOf, BetaOneDoesNotMultiply) {
  using T = TypeParam;
  const T a[] = {1}, b[] = {1};
  reference::Scale<T> scale;
  scale.beta = 1;
  scale.c = T(0.5);
  for (const C c : {C::last, C::first, C::seed})
    EXPECT_EQ(reference::evaluate(test::chain(1, Op::fma), Epilogue{Alpha::end, c, false}, Format::none, a, b, scale),
              T(1.5));
}

TYPED_TEST(EpilogueOf, AlphaZeroReadsNothing) {
  using T = TypeParam;
  reference::Scale<T> scale;
  scale.alpha = 0;
  const Tree tree = test::chunks(k, 2, Op::fma);
  const T* none = nullptr;
  for (const Alpha alpha : {Alpha::end, Alpha::block, Alpha::a})
    for (const C c : {C::last, C::first, C::seed}) {
      scale.beta = 0;
      EXPECT_TRUE(same_bits(reference::evaluate(tree, {alpha, c, false}, Format::none, none, none, scale), T(0)));
      scale.beta = 2;
      scale.c = 3;
      EXPECT_EQ(reference::evaluate(tree, {alpha, c, true}, Format::none, none, none, scale), T(6));
    }
}

// The factor and the sum are in double inside a wide root, and C joins before the one rounding.
TEST(Epilogue, AWideRootSumsItsPiecesInDouble) {
  Tree tree = test::chunks(2, 1, Op::fma);
  for (Node& node : tree.nodes) node.wide = true;
  const float a[] = {0x1p-24f, 0x1p-24f}, b[] = {1, 1};
  reference::Scale<float> scale;
  scale.beta = 1;
  scale.c = 1;
  EXPECT_EQ(reference::evaluate(tree, Epilogue{Alpha::end, C::first, false}, Format::none, a, b, scale), 1 + 0x1p-23f);
  EXPECT_EQ(reference::evaluate(tree, Epilogue{Alpha::end, C::seed, false}, Format::none, a, b, scale), 1 + 0x1p-23f);
}

TEST(Epilogue, TensorCoresStartFromC) {
  Tree tree = test::chain(4, Op::mma);
  tree.nodes[0].items[0].block = 4;
  tree.nodes[0].items[0].fraction = 24;
  const float a[] = {-0x1p13f, -0.5f, -0.25f, -0.125f}, b[] = {0x1p10f, 1, 1, 1};
  reference::Scale<float> scale;
  scale.beta = 1;
  scale.c = 0x1p23f;
  EXPECT_EQ(reference::evaluate(tree, Epilogue{Alpha::end, C::seed, false}, Format::none, a, b, scale), -0.5f);
}

TEST(Epilogue, PartialSumsAreRounded) {
  Tree tree = test::chunks(2, 1, Op::fma);
  tree.nodes[0].round = Format::bf16;
  const float a[] = {1 + 0x1p-10f, 0x1p-10f}, b[] = {1, 1};
  EXPECT_EQ(reference::evaluate(tree, a, b), 1 + 0x1p-10f);
}

TEST(Epilogue, WhatHasNoMeaningIsUnsupported) {
  const Tree pieces = test::chunks(4, 2, Op::fma);
  Tree mixed = test::chain(4, Op::fma);
  mixed.nodes = {{.items = {test::leaves(2, 2, Op::fma)}}, {.items = {test::leaves(0, 2, Op::fma), test::node(0)}}};
  mixed.root = 1;
  const Tree exact = test::chain(4, Op::exact);
  const auto code = [](const Tree& tree, Epilogue epilogue, float alpha, float beta) {
    const float a[] = {1, 1, 1, 1}, b[] = {1, 1, 1, 1};
    reference::Scale<float> scale;
    scale.alpha = alpha;
    scale.beta = beta;
    for (int i = 0; i < 2; ++i) {
      try {
        if (i == 0)
          reference::check(tree, epilogue, alpha, beta);
        else
          reference::evaluate(tree, epilogue, Format::none, a, b, scale);
      } catch (const Error& error) {
        if (error.code() != Code::unsupported) return -1;
        if (i == 1) return 1;
        continue;
      }
      if (i == 1) return 0;
    }
    return -1;
  };
  EXPECT_EQ(code(pieces, {Alpha::end, C::first, false}, 2, 1), 1);
  EXPECT_EQ(code(pieces, {Alpha::end, C::first, false}, 2, 0), 0);
  EXPECT_EQ(code(pieces, {Alpha::end, C::seed, false}, 2, 1), 1);
  EXPECT_EQ(code(pieces, {Alpha::block, C::seed, false}, 2, 1), 1);
  EXPECT_EQ(code(pieces, {Alpha::a, C::seed, false}, 2, 1), 0);
  EXPECT_EQ(code(mixed, {Alpha::block, C::last, false}, 2, 0), 1);
  EXPECT_EQ(code(mixed, {Alpha::block, C::last, false}, 1, 1), 0);
  EXPECT_EQ(code(mixed, {Alpha::end, C::first, false}, 1, 1), 1);
  EXPECT_EQ(code(exact, {Alpha::end, C::seed, false}, 1, 1), 1);
  EXPECT_EQ(code(exact, {Alpha::end, C::last, false}, 2, 1), 0);
}

}  // namespace
}  // namespace samebits
