// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "explain/compare.h"
#include "reference/reference.h"

namespace samebits {
namespace {

using explain::same_bits;

constexpr Index m = 5, n = 4, k = 37;

struct Problem {
  std::vector<float> a = std::vector<float>(m * k), b = std::vector<float>(k * n), c = std::vector<float>(m * n, NAN);

  explicit Problem(unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto* x : {&a, &b})
      for (float& v : *x) v = uniform(random);
  }
  MatrixView<const float> A() const { return row_major(a.data(), m, k); }
  MatrixView<const float> B() const { return row_major(b.data(), k, n); }
  std::vector<float> run(const Order& order) {
    std::vector<float> out(m * n, NAN);
    reference::gemm(1.0f, A(), B(), 0.0f, row_major(out.data(), m, n), order);
    return out;
  }
};

bool all_same(const std::vector<float>& x, const std::vector<float>& y) {
  return explain::compare(row_major(x.data(), 1, std::ssize(x)), row_major(y.data(), 1, std::ssize(y))).equal();
}

TEST(ReferenceGemm, EachElementIsItsTree) {
  Problem p(1);
  for (const char* text : {"fma", "mul", "chunks(8) > fma", "lanes(4, fold=halves) > fma", "tf32(rna) > mma(4,24)",
                           "bf16(rne) > fma", "f64 > mul", "exact", "pairwise(4) > mul"}) {
    const Order order = Order::parse(text);
    const Tree tree = order.tree(k);
    const auto got = p.run(order);
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) {
        std::vector<float> row(k), column(k);
        for (Index l = 0; l < k; ++l) {
          row[l] = reference::round_to(order.input().format, order.input().rounding, p.a[i * k + l]);
          column[l] = reference::round_to(order.input().format, order.input().rounding, p.b[l * n + j]);
        }
        ASSERT_TRUE(same_bits(got[i * n + j], reference::evaluate(tree, row.data(), column.data()))) << text;
      }
  }
}

TEST(ReferenceGemm, LayoutChangesNoBit) {
  Problem p(2);
  const Order order = Order::parse("chunks(16) > fma");
  const auto want = p.run(order);
  // Columns of A in reverse, with gaps; B column-major; C transposed.
  std::vector<float> a(m * k * 3, NAN), b(k * n), c(m * n, NAN);
  for (Index i = 0; i < m; ++i)
    for (Index l = 0; l < k; ++l) a[(i * k + (k - 1 - l)) * 3] = p.a[i * k + l];
  for (Index l = 0; l < k; ++l)
    for (Index j = 0; j < n; ++j) b[j * k + l] = p.b[l * n + j];
  const MatrixView<const float> av{a.data() + (k - 1) * 3, m, k, k * 3, -3};
  reference::gemm(1.0f, av, MatrixView<const float>(col_major(b.data(), k, n)), 0.0f, col_major(c.data(), m, n), order);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) ASSERT_TRUE(same_bits(c[j * m + i], want[i * n + j]));
  // A broadcast: one row for all.
  std::vector<float> same(m * n, NAN);
  reference::gemm(1.0f, MatrixView<const float>{p.a.data(), m, k, 0, 1}, p.B(), 0.0f, row_major(same.data(), m, n), order);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) ASSERT_TRUE(same_bits(same[i * n + j], want[j]));
}

TEST(ReferenceGemm, RegionsAreMatchedInTurn) {
  Problem p(3);
  const Order order = Order::parse("regions(rows=0:3 cols=1:4:2: mul; rows=2:5: chunks(8) > mul; rest: fma)");
  const auto got = p.run(order), mul = p.run(Order::parse("mul")), chunks = p.run(Order::parse("chunks(8) > mul")),
             fma = p.run({});
  ASSERT_FALSE(all_same(mul, fma));
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      const bool first = i < 3 && j % 2 == 1, second = i >= 2;
      const auto& want = first ? mul : second ? chunks : fma;
      ASSERT_TRUE(same_bits(got[i * n + j], want[i * n + j])) << i << ", " << j;
    }
  EXPECT_THROW(p.run(Order::parse("regions(rows=0:6: mul; rest: fma)")), Error);
}

TEST(ReferenceGemm, EpilogueAndBias) {
  Problem p(4);
  const auto ab = p.run({});
  std::vector<float> c(m * n, 0.375f);
  const float bias[] = {1, NAN, 2, NAN, 3, NAN, 4};
  reference::gemm(0.7f, p.A(), p.B(), 1.3f, row_major(c.data(), m, n), Order::parse("fma"), Bias<float>{bias, 2});
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j)
      ASSERT_TRUE(same_bits(c[i * n + j], (0.7f * ab[i * n + j] + 1.3f * 0.375f) + static_cast<float>(j + 1)));
  // One value for all columns.
  reference::gemm(1.0f, p.A(), p.B(), 0.0f, row_major(c.data(), m, n), Order::parse("out(bf16) > fma"),
                  Bias<float>{bias, 0});
  for (Index i = 0; i < m * n; ++i)
    ASSERT_TRUE(same_bits(c[i], reference::round_to(Format::bf16, Rounding::rne, ab[i] + 1)));
}

TEST(ReferenceGemm, WhatIsNotReadMayBeMissing) {
  std::vector<float> c(m * n, 3);
  const MatrixView<const float> no_a{nullptr, m, k, k, 1}, no_b{nullptr, k, n, n, 1};
  reference::gemm(0.0f, no_a, no_b, 2.0f, row_major(c.data(), m, n), Order::parse("chunks(4) > fma"));
  EXPECT_TRUE(all_same(c, std::vector<float>(m * n, 6)));
  // K = 0 and NaN in C.
  c.assign(m * n, NAN);
  const MatrixView<const float> a{nullptr, m, 0, 0, 1}, b{nullptr, 0, n, n, 1};
  reference::gemm(1.0f, a, b, 0.0f, row_major(c.data(), m, n), Order::parse("lanes(8) > mul"));
  EXPECT_TRUE(all_same(c, std::vector<float>(m * n, 0.0f)));
}

TEST(ReferenceGemm, ErrorsComeBeforeCIsTouched) {
  Problem p(5);
  std::vector<float> c(m * n, 7);
  const auto run = [&](const char* order, float alpha, float beta) {
    reference::gemm(alpha, p.A(), p.B(), beta, row_major(c.data(), m, n), Order::parse(order));
  };
  EXPECT_THROW(run("regions(rows=0:1: fma; rest: epilogue(c=seed) > fma)", 2, 1), Error);
  EXPECT_THROW(run("regions(rows=0:1: fma; rest: tree(0 + 1) > fma)", 1, 0), Error);
  EXPECT_TRUE(all_same(c, std::vector<float>(m * n, 7)));
}

TEST(ReferenceGemm, DoubleInputsAreRoundedOnce) {
  // 1 + 2^-11 + 2^-40 lies above the tie between 1 and 1 + 2^-10; through float it would be the tie, and go to 1.
  const double a[] = {1 + 0x1p-11 + 0x1p-40}, b[] = {1};
  double c[] = {0};
  reference::gemm(1.0, row_major(a, 1, 1), row_major(b, 1, 1), 0.0, row_major(c, 1, 1), Order::parse("fp16(rne) > fma"));
  EXPECT_EQ(c[0], 1 + 0x1p-10);
}

// Half-precision subnormals keep exponent -14 in a tensor core, so less is kept of what stands beside them.
TEST(ReferenceGemm, HalfSubnormalsAreNotNormalisedInTensorCores) {
  const float a[] = {0x1p-24f, 0x1p-15f}, b[] = {1, 0x1p-24f};
  const auto product = [&](const char* order) {
    float c = NAN;
    reference::gemm(1.0f, row_major(a, 1, 2), row_major(b, 2, 1), 0.0f, row_major(&c, 1, 1), Order::parse(order));
    return c;
  };
  EXPECT_EQ(product("fp16(rne) > mma(4,24)"), 0x1p-24f);
  EXPECT_EQ(product("tf32(rna) > mma(4,24)"), 0x1p-24f + 0x1p-39f);
}

}  // namespace
}  // namespace samebits
