// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "explain/compare.h"
#include "io/npy.h"
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

}  // namespace
}  // namespace samebits
