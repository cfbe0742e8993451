// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "explain/compare.h"
#include "io/npy.h"
#include "order/random.h"
#include "reference/float_environment.h"
#include "reference/mpfr_number.h"
#include "reference/random_floats.h"
#include "reference/reference.h"
#include "reference/trees.h"

namespace samebits {
namespace {

using explain::same_bits;
using reference::evaluate;
using test::chain;
using test::chunks;

// x @ w.T of a 5 -> 7 linear layer, recorded: ONNX Runtime and NumPy add as one FMA chain.
TEST(Recorded, LinearFiveSevenIsAnFmaChain) {
  const std::string dir = SAMEBITS_TEST_DATA "/cases/linear-5-7-f32/";
  const io::Array x = io::read_npy(dir + "a.npy"), w = io::read_npy(dir + "b.npy");
  ASSERT_EQ(x.shape, (std::vector<Index>{2, 3, 5}));
  ASSERT_EQ(w.shape, (std::vector<Index>{7, 5}));
  const Tree fma = chain(5, Op::fma), mul = chain(5, Op::mul);
  for (const char* side : {"ort-cpu", "numpy"}) {
    const io::Array y = io::read_npy(dir + side + ".npy");
    ASSERT_EQ(y.size(), 42);
    int by_fma = 0, by_mul = 0;
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 7; ++j) {
        const float *a = &x.f32[i * 5], *b = &w.f32[j * 5];
        by_fma += same_bits(evaluate(fma, a, b), y.f32[i * 7 + j]);
        by_mul += same_bits(evaluate(mul, a, b), y.f32[i * 7 + j]);
      }
    EXPECT_EQ(by_fma, 42) << side;
    EXPECT_LT(by_mul, 42) << side;
  }
}

TEST(Evaluate, AnFmaChainStartsFromZero) {
  const float a[] = {-0.0f}, b[] = {1.0f};
  EXPECT_TRUE(same_bits(evaluate(chain(1, Op::fma), a, b), 0.0f));
  Tree first = chain(1, Op::fma);
  first.nodes[0].start_negative = true;
  EXPECT_TRUE(same_bits(evaluate(first, a, b), -0.0f));
  EXPECT_TRUE(same_bits(evaluate(chain(0, Op::fma), a, b), 0.0f));
}

TEST(Evaluate, ChunksAreAddedFromLeftToRight) {
  const float a[] = {1e8f, 1, -1e8f, 1}, b[] = {1, 1, 1, 1};
  EXPECT_EQ(evaluate(chunks(4, 2, Op::mul), a, b), (1e8f + 1) + (-1e8f + 1));
  EXPECT_EQ(evaluate(chain(4, Op::mul), a, b), ((1e8f + 1) - 1e8f) + 1);
}

TEST(Evaluate, SignedZeros) {
  const float minus[] = {-0.0f, -0.0f, -0.0f}, one[] = {1, 1, 1};
  for (const Op op : {Op::fma, Op::mul}) {
    EXPECT_TRUE(same_bits(evaluate(chain(3, op), minus, one), 0.0f));
    EXPECT_TRUE(same_bits(evaluate(chunks(3, 1, op), minus, one), 0.0f));
    Tree tree = chain(3, op);
    tree.nodes[0].start_negative = true;
    EXPECT_TRUE(same_bits(evaluate(tree, minus, one), -0.0f));
    tree.nodes[0].items[0].op = op;
    const float mixed[] = {-0.0f, 0.0f, -0.0f};
    EXPECT_TRUE(same_bits(evaluate(tree, mixed, one), 0.0f));
  }
}

TEST(Evaluate, SpecialValues) {
  const float inf = INFINITY, a[] = {inf, 1, -inf}, b[] = {1, 1, 1}, zero[] = {0, 0, 0}, nan[] = {NAN, 0, 0};
  for (const Op op : {Op::fma, Op::mul}) {
    EXPECT_EQ(evaluate(chain(2, op), a, b), inf);
    EXPECT_TRUE(std::isnan(evaluate(chain(3, op), a, b)));
    EXPECT_TRUE(std::isnan(evaluate(chain(1, op), a, zero)));
    EXPECT_TRUE(std::isnan(evaluate(chain(3, op), nan, zero)));
    // The sum has left the range; the fused product has not: Inf - 2^128. The rounded product has: Inf - Inf.
    const float big[] = {0x1p127f, -0x1p127f}, two[] = {2, 2};
    if (op == Op::fma)
      EXPECT_EQ(evaluate(chain(2, op), big, two), inf);
    else
      EXPECT_TRUE(std::isnan(evaluate(chain(2, op), big, two)));
  }
}

// fma beside mul: the same two operations with one rounding less.
TEST(Evaluate, FmaRoundsOnce) {
  const float x = 1 + 0x1p-12f, a[] = {-(1 + 0x1p-11f), x}, b[] = {1, x};
  EXPECT_EQ(evaluate(chain(2, Op::fma), a, b), 0x1p-24f);
  EXPECT_EQ(evaluate(chain(2, Op::mul), a, b), 0.0f);
}

// A sub-sum of one leaf is rounded before it is added; the leaf that starts a chain decides nothing else.
TEST(Evaluate, ASubSumOfOneLeafIsRounded) {
  const float x = 1 + 0x1p-12f, a[] = {-(1 + 0x1p-11f), x}, b[] = {1, x};
  EXPECT_EQ(evaluate(chunks(2, 1, Op::fma), a, b), 0.0f);
}

// float lanes, then a double tail joined last: round(double(lanes) + tail) against double all through.
TEST(Evaluate, WideNodesRoundWhereTheyLeave) {
  const float a[] = {1, 0x1p-24f, 0x1p-24f}, b[] = {1, 1, 1};
  Tree tree = chain(3, Op::mul);
  EXPECT_EQ(evaluate(tree, a, b), 1.0f);
  tree.nodes[0].wide = true;
  EXPECT_EQ(evaluate(tree, a, b), 1 + 0x1p-23f);
  // The root is narrow: 1 + (wide 2^-24 + 2^-24).
  Tree tail = chain(3, Op::mul);
  tail.nodes = {{.items = {test::leaves(1, 2, Op::mul)}, .wide = true},
                {.items = {test::leaves(0, 1, Op::mul), test::node(0)}}};
  tail.root = 1;
  EXPECT_EQ(evaluate(tail, a, b), 1 + 0x1p-23f);
  // mul_f32 rounds each product to float, mul does not.
  const float x[] = {1 + 0x1p-12f, -1, -0x1p-11f}, y[] = {1 + 0x1p-12f, 1, 1};
  tree = chain(3, Op::mul);
  tree.nodes[0].wide = true;
  EXPECT_EQ(evaluate(tree, x, y), 0x1p-24f);
  tree.nodes[0].items[0].op = Op::mul_f32;
  EXPECT_EQ(evaluate(tree, x, y), 0.0f);
}

TEST(Evaluate, ExactStandsAlone) {
  const float a[] = {1e30f, 1, -1e30f}, b[] = {1, 1, 1};
  EXPECT_EQ(evaluate(chain(3, Op::exact), a, b), 1.0f);
  Tree two = chain(3, Op::exact);
  two.nodes[0].items = {test::leaves(0, 1, Op::fma), test::leaves(1, 2, Op::exact)};
  EXPECT_THROW(evaluate(two, a, b), Error);
}

TEST(Evaluate, WhatDoubleCannotDoIsUnsupported) {
  const double a[] = {1}, b[] = {1};
  Tree tree = chain(1, Op::mma);
  tree.nodes[0].items[0].block = 4;
  tree.nodes[0].items[0].fraction = 24;
  for (const Op op : {Op::mma, Op::mul_f32}) {
    tree.nodes[0].items[0].op = op;
    try {
      evaluate(tree, a, b);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unsupported);
    }
  }
  const float x[] = {1}, y[] = {1};
  tree.nodes[0].items[0].op = Op::mma;
  EXPECT_EQ(evaluate(tree, x, y), 1.0f);
  tree.nodes[0].wide = true;
  EXPECT_THROW(evaluate(tree, x, y), Error);
}

TEST(Evaluate, ARightCombOfManyNodes) {
  const std::uint32_t k = 200000;
  Tree tree = chain(k, Op::fma);
  tree.nodes.clear();
  for (std::uint32_t i = k; i-- > 0;) {
    Node node{.items = {test::leaves(i, 1, Op::fma)}};
    if (i + 1 < k) node.items.push_back(test::node(static_cast<std::uint32_t>(tree.nodes.size() - 1)));
    tree.nodes.push_back(node);
  }
  tree.root = k - 1;
  const std::vector<float> a(k, 1.0f), b(k, 0.5f);
  EXPECT_EQ(evaluate(tree, a.data(), b.data()), k / 2);
}

// The definition a second time: recursive, each operation rounded by MPFR.
template <class T>
double by_mpfr(const Tree& tree, std::uint32_t index, const T* a, const T* b) {
  const Node& node = tree.nodes[index];
  constexpr test::Ieee own = sizeof(T) == 4 ? test::kFloat : test::kDouble;
  const test::Ieee format = node.wide ? test::kDouble : own;
  double s = node.start_negative ? -0.0 : 0.0;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Item& item = node.items[i];
    if (item.is_node()) {
      test::Number value(53, by_mpfr(tree, item.node, a, b));
      const double x = test::rounded(value, format, MPFR_RNDN);
      s = i == 0 ? x : test::add(format, s, x);
      continue;
    }
    for (std::uint32_t l = item.begin; l < item.begin + item.count; ++l) {
      const double x = a[tree.ks[l]], y = b[tree.ks[l]];
      if (item.op == Op::fma)
        s = test::fma(format, x, y, s);
      else
        s = test::add(format, s, test::mul(item.op == Op::mul_f32 ? test::kFloat : format, x, y));
    }
  }
  return s;
}

template <class T>
void against_mpfr(int cases, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  test::RandomFloats floats(seed);
  test::RandomTree random_tree(random, sizeof(T) == 4);
  int not_the_chain = 0;
  for (int i = 0; i < cases; ++i) {
    const auto k = static_cast<std::uint32_t>(1 + floats.below(12));
    const Tree tree = random_tree(k);
    std::vector<T> a(k), b(k);
    const bool ordinary = floats.chance(60);
    for (std::uint32_t l = 0; l < k; ++l) {
      a[l] = ordinary ? static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1) : floats.finite<T>();
      b[l] = ordinary ? static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-52 - 1) : floats.finite<T>();
    }
    const double exact_in_double = by_mpfr(tree, tree.root, a.data(), b.data());
    test::Number last(53, exact_in_double);
    const T want = static_cast<T>(test::rounded(last, sizeof(T) == 4 ? test::kFloat : test::kDouble, MPFR_RNDN));
    const T got = evaluate(tree, a.data(), b.data());
    ASSERT_TRUE(same_bits(got, want)) << "case " << i << ": " << explain::hex(got) << " for " << explain::hex(want);
    not_the_chain += !same_bits(got, evaluate(chain(k, Op::fma), a.data(), b.data()));
  }
  EXPECT_GT(not_the_chain, cases / 10);
}

TEST(Evaluate, RandomTreesOfFloatEqualMpfr) {
  against_mpfr<float>(20000, 8);
}
TEST(Evaluate, RandomTreesOfDoubleEqualMpfr) {
  against_mpfr<double>(20000, 9);
}

// The definition a third time, from the canonical text alone.
class TextValue {
 public:
  TextValue(const std::string& text, Op base, const float* a, const float* b)
      : p_(text.c_str()), base_(base), a_(a), b_(b) {}
  double value() {
    const double s = sum();
    EXPECT_EQ(*p_, '\0') << "not read: " << p_;
    return s;
  }

 private:
  bool accept(const char* word) {
    const std::size_t n = std::strlen(word);
    if (std::strncmp(p_, word, n) != 0) return false;
    p_ += n;
    return true;
  }
  std::int64_t number() {
    char* end;
    const std::int64_t n = std::strtoll(p_, &end, 10);
    p_ = end;
    return n;
  }
  double sum() {
    double s = accept("-0 + ") ? -0.0 : 0.0;
    for (bool first = true; first || accept(" + "); first = false) {
      if (accept("(")) {
        const double inner = sum();
        EXPECT_TRUE(accept(")"));
        s = first ? inner : test::add(test::kFloat, s, inner);
        continue;
      }
      std::int64_t from, to, step = 1;
      if (accept("[")) {
        from = number();
        EXPECT_TRUE(accept(".."));
        to = number();
        if (accept(":")) step = number();
        EXPECT_TRUE(accept("]"));
      } else {
        from = to = number();
      }
      const Op op = accept(":mul") ? Op::mul : accept(":fma") ? Op::fma : base_;
      for (std::int64_t k = from; step > 0 ? k <= to : k >= to; k += step)
        s = op == Op::fma ? test::fma(test::kFloat, a_[k], b_[k], s)
                          : test::add(test::kFloat, s, test::mul(test::kFloat, a_[k], b_[k]));
    }
    return s;
  }

  const char* p_;
  Op base_;
  const float *a_, *b_;
};

TEST(Evaluate, TreesEqualTheirText) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const order::RandomOrder options{.explicit_tree = true};
  int checked = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto k = static_cast<std::uint32_t>(1 + random() % 40);
    const Tree tree = i % 2 ? order::random_tree(random, k, i % 4 == 1 ? Op::fma : Op::mul)
                            : order::random_order(random, k, options).tree(k);
    const std::string text = tree.text();
    if (text.find("f64") != std::string::npos) continue;
    std::vector<float> a(k), b(k);
    for (auto* x : {&a, &b})
      for (float& v : *x) v = random() % 16 ? uniform(random) : -0.0f;
    const float want = static_cast<float>(TextValue(text, tree.main_op(), a.data(), b.data()).value());
    ASSERT_TRUE(same_bits(evaluate(tree, a.data(), b.data()), want)) << text;
    ASSERT_TRUE(same_bits(evaluate(order::commuted(random, tree), a.data(), b.data()), want)) << text;
    ++checked;
  }
  EXPECT_GT(checked, 3000);
}

TEST(Environment, RoundsToNearestAndKeepsSubnormals) {
#if defined(__SSE2__)
  const unsigned caller = _mm_getcsr(), odd = (caller & ~0x6000u) | 0x4000u | 0x8040u;  // upward, FTZ, DAZ
  volatile float tiny = 0x1p-149f, third = 1.0f / 3;
  _mm_setcsr(odd);
  const float flushed = tiny * 3.0f;
  const float a[] = {tiny, third}, b[] = {1, third};
  float small, square;
  {
    const FloatEnvironment environment;
    small = evaluate(chain(1, Op::mul), a, b);
    square = evaluate(chain(1, Op::mul), a + 1, b + 1);
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(caller);
  EXPECT_EQ(after & ~0x3fu, odd & ~0x3fu);
  EXPECT_EQ(flushed, 0.0f);
  EXPECT_EQ(small, 0x1p-149f);
  EXPECT_EQ(square, third * third);
#endif
}

}  // namespace
}  // namespace samebits
