// SPDX-License-Identifier: Apache-2.0
// What gemm refuses, and that it has not touched C by then.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "samebits/gemm.h"

namespace samebits {
namespace {

using View = MatrixView<const float>;

class Arguments : public ::testing::Test {
 protected:
  std::vector<float> a = std::vector<float>(6, 1), b = std::vector<float>(12, 1), c = std::vector<float>(8, 7);
  View A = row_major<const float>(a.data(), 2, 3), B = row_major<const float>(b.data(), 3, 4);
  MatrixView<float> C = row_major(c.data(), 2, 4);

  // The error's message; "" when there is none. Checks that it is `code` and that C is as it was.
  template <class Call>
  std::string error(Call call, Code code = Code::invalid_argument) {
    const std::vector<float> before = c;
    try {
      call();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_EQ(c, before);
      return e.what();
    }
    return "";
  }
  std::string error(View x, View y, MatrixView<float> z, Code code = Code::invalid_argument) {
    return error([&] { gemm(1.0f, x, y, 0.0f, z); }, code);
  }
};

TEST_F(Arguments, GoodOnesPass) {
  EXPECT_EQ(error([&] { gemm(1.0f, A, B, 0.0f, C); }), "");
  EXPECT_EQ(c, std::vector<float>(8, 3));
}

TEST_F(Arguments, SizesMustFit) {
  EXPECT_EQ(error(A, row_major<const float>(b.data(), 4, 3), C), "shapes do not fit: A is 2 x 3, B is 4 x 3, C is 2 x 4");
  EXPECT_NE(error(A, B, row_major(c.data(), 4, 2)), "");
  EXPECT_NE(error(View{a.data(), -2, 3, 3, 1}, B, C), "");
  const Plan<float> plan({}, 2, 4, 2);
  EXPECT_EQ(error([&] { plan.run(1, A, B, 0, C); }), "the plan is for 2 x 4 x 2, not 2 x 4 x 3");
  EXPECT_NE(error([] { Plan<float>({}, 2, -1, 3); }), "");
}

TEST_F(Arguments, NullDataIsRefusedWhereItWouldBeRead) {
  EXPECT_EQ(error(View{nullptr, 2, 3, 3, 1}, B, C), "A is null");
  EXPECT_EQ(error(A, View{nullptr, 3, 4, 4, 1}, C), "B is null");
  EXPECT_EQ(error(A, B, {nullptr, 2, 4, 4, 1}), "C is null");
  EXPECT_EQ(error([&] { gemm(0.0f, View{nullptr, 2, 3, 3, 1}, View{nullptr, 3, 4, 4, 1}, 1.0f, C); }), "");
  EXPECT_EQ(c, std::vector<float>(8, 7));
  EXPECT_EQ(error(View{nullptr, 2, 0, 0, 1}, View{nullptr, 0, 4, 4, 1}, C), "");
  EXPECT_EQ(c, std::vector<float>(8, 0));
  EXPECT_EQ(error(View{nullptr, 0, 3, 3, 1}, B, {nullptr, 0, 4, 4, 1}), "");
}

TEST_F(Arguments, SizesBeyondMemoryAreRefused) {
  const Index huge = std::numeric_limits<Index>::max() / 2;
  EXPECT_NE(error(View{a.data(), 2, 3, huge, 1}, B, C), "");
  EXPECT_NE(error(View{a.data(), 2, 3, 3, huge}, B, C), "");
  EXPECT_NE(error(View{a.data(), 2, 3, -huge, -huge / 2}, B, C), "");
}

TEST_F(Arguments, EveryElementOfCHasItsPlace) {
  EXPECT_NE(error(A, B, {c.data(), 2, 4, 0, 1}), "");
  EXPECT_NE(error(A, B, {c.data(), 2, 4, 3, 1}), "");
  EXPECT_NE(error(A, B, {c.data(), 2, 4, 4, 0}), "");
  EXPECT_EQ(error(A, B, {c.data() + 7, 2, 4, -4, -1}), "");
  EXPECT_EQ(error(A, B, {c.data(), 2, 4, 1, 2}), "");
}

TEST_F(Arguments, InputsMayShareElementsAmongThemselves) {
  EXPECT_EQ(error(View{a.data(), 2, 3, 0, 1}, View{a.data(), 3, 4, 0, 0}, C), "");
}

TEST_F(Arguments, CMayNotOverlapAnInput) {
  EXPECT_EQ(error(A, View{c.data(), 3, 4, 0, 1}, C), "C overlaps B");
  EXPECT_EQ(error(View{c.data() + 7, 2, 3, 0, 0}, B, C), "C overlaps A");
  EXPECT_EQ(error([&] { gemm(1.0f, A, B, 0.0f, C, {}, {}, Bias<float>{c.data() + 4, 1}); }), "C overlaps the bias");
  EXPECT_EQ(error([&] { gemm(0.0f, View{c.data(), 2, 3, 3, 1}, B, 0.0f, C); }), "");  // not read
}

// A and C side by side in one matrix: their addresses interleave, no element is shared.
TEST_F(Arguments, BlocksOfOneMatrixDoNotOverlap) {
  std::vector<float> whole(2 * 10, 1);
  const View left = row_major<const float>(whole.data(), 2, 3, 10);
  EXPECT_EQ(error(left, B, row_major(whole.data() + 3, 2, 4, 10)), "");
  EXPECT_EQ(whole[3], 3);
  EXPECT_EQ(error(left, B, row_major(whole.data() + 2, 2, 4, 10)), "C overlaps A");
  // By columns.
  EXPECT_EQ(error(View{whole.data(), 2, 3, 1, 2}, B, {whole.data() + 6, 2, 4, 1, 2}), "");
  EXPECT_EQ(error(View{whole.data(), 2, 3, 1, 2}, B, {whole.data() + 5, 2, 4, 1, 2}), "C overlaps A");
}

TEST_F(Arguments, OrdersThatDoNotFit) {
  const auto with = [&](const char* order, float alpha = 1, float beta = 0) {
    return [=, this] { gemm(alpha, A, B, beta, C, Order::parse(order)); };
  };
  EXPECT_NE(error(with("tree(0 + 1) > fma")), "");
  EXPECT_NE(error(with("regions(rows=0:3: mul; rest: fma)")), "");
  EXPECT_NE(error(with("regions(rows=0:1: fma; rest: epilogue(c=seed) > fma)", 2, 1), Code::unsupported), "");
  EXPECT_NE(error(with("regions(rows=0:1: fma; rest: epilogue(c=first) > chunks(2) > fma)", 2, 1), Code::unsupported), "");
  const std::vector<double> x(4, 1);
  std::vector<double> y(4, 7);
  const auto xv = row_major(x.data(), 2, 2);
  EXPECT_NE(error([&] { gemm(1.0, xv, xv, 0.0, row_major(y.data(), 2, 2), Order::parse("mma(4,24)")); }, Code::unsupported),
            "");
  EXPECT_EQ(y, std::vector<double>(4, 7));
}

TEST_F(Arguments, Batches) {
  const auto batch = [&](Index c_batch, Index count) {
    return [=, this] {
      gemm_batch(1.0f, View{a.data(), 1, 3, 3, 1}, 3, B, 0, 0.0f, MatrixView<float>{c.data(), 1, 4, 4, 1}, c_batch, count);
    };
  };
  EXPECT_EQ(error(batch(4, 2)), "");
  EXPECT_EQ(c, std::vector<float>(8, 3));
  EXPECT_NE(error(batch(0, 2)), "");
  EXPECT_NE(error(batch(3, 2)), "");  // the second C begins inside the first
  EXPECT_NE(error(batch(4, -1)), "");
  EXPECT_EQ(error(batch(4, 0)), "");
}

TEST_F(Arguments, InterleavedMatricesAreDistinct) {
  std::vector<float> parts(24, 1);  // real and imaginary
  EXPECT_EQ(error(View{parts.data(), 2, 3, 8, 2}, B, {parts.data() + 1, 2, 4, 8, 2}), "");
  EXPECT_EQ(error(View{parts.data(), 2, 3, 8, 2}, B, {parts.data() + 2, 2, 4, 8, 2}), "C overlaps A");
  // Two products whose elements alternate.
  EXPECT_EQ(error([&] { gemm_batch(1.0f, A, 0, B, 0, 0.0f, MatrixView<float>{parts.data(), 2, 4, 8, 2}, 1, 2); }), "");
}

// The second product would write into what the first reads.
TEST_F(Arguments, BatchesOverlapAsAWhole) {
  std::vector<float> x(16, 1);
  EXPECT_NE(error([&] {
              gemm_batch(1.0f, View{x.data(), 1, 4, 4, 1}, 4, View{b.data(), 4, 3, 3, 1}, 0, 0.0f,
                         MatrixView<float>{x.data() + 4, 1, 3, 3, 1}, 4, 2);
            }),
            "");
  EXPECT_EQ(x, std::vector<float>(16, 1));
}

}  // namespace
}  // namespace samebits
