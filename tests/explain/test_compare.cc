// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "explain/compare.h"

namespace samebits::explain {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST(Compare, UlpDistanceCountsRepresentableNumbers) {
  EXPECT_EQ(ulp_distance(1.0f, 1.0f), 0u);
  EXPECT_EQ(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)), 1u);
  EXPECT_EQ(ulp_distance(std::nextafter(1.0f, 0.0f), std::nextafter(1.0f, 2.0f)), 2u);
  EXPECT_EQ(ulp_distance(0.0f, -0.0f), 1u);
  EXPECT_EQ(ulp_distance(0x1p-149f, -0x1p-149f), 3u);
  EXPECT_EQ(ulp_distance(-1.0, 1.0), 2 * std::bit_cast<std::uint64_t>(1.0) + 1);
  EXPECT_EQ(ulp_distance(std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()),
            2 * std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max()) + 1);
}

TEST(Compare, NansAreEqualAndInfinitiesHaveNoDistance) {
  EXPECT_EQ(ulp_distance(nan, std::bit_cast<float>(0xffc00001u)), 0u);
  EXPECT_EQ(ulp_distance(inf, inf), 0u);
  EXPECT_FALSE(ulp_distance(inf, -inf));
  EXPECT_FALSE(ulp_distance(inf, std::numeric_limits<float>::max()));
  EXPECT_FALSE(ulp_distance(nan, 1.0f));
}

TEST(Compare, HexHoldsTheBits) {
  EXPECT_EQ(hex(1.0f), "0x3f800000 (1)");
  EXPECT_EQ(hex(-0.0), "0x8000000000000000 (-0)");
  EXPECT_EQ(bits(0.1f), "0x3dcccccd");
}

class Matrices : public ::testing::Test {
 protected:
  static constexpr Index rows = 6, cols = 12;
  std::vector<float> left = std::vector<float>(rows * cols, 1), right = left;
  template <class Where>
  Comparison differ(Where where) {
    right = left;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j)
        if (where(i, j)) right[i * cols + j] = std::nextafter(1.0f, 2.0f);
    return run();
  }
  Comparison run() {
    return compare<float>(row_major<const float>(left.data(), rows, cols), row_major<const float>(right.data(), rows, cols));
  }
};

TEST_F(Matrices, Equal) {
  left[3] = right[3] = nan;
  const Comparison c = run();
  EXPECT_TRUE(c.equal());
  EXPECT_EQ(c.max_ulp, 0u);
  EXPECT_EQ(c.first_row, -1);
  EXPECT_EQ(c.text(), "equal: all 72 elements have the same bits\n");
}

TEST_F(Matrices, WhereTheyDiffer) {
  EXPECT_EQ(differ([](Index, Index) { return true; }).where, "all elements");
  EXPECT_EQ(differ([](Index, Index j) { return j >= 9; }).where, "all rows, the last 3 columns");
  EXPECT_EQ(differ([](Index, Index j) { return j < 2; }).where, "all rows, the first 2 columns");
  EXPECT_EQ(differ([](Index i, Index j) { return i == 4 && j % 4 == 1; }).where, "row 4, columns 1 mod 4");
  EXPECT_EQ(differ([](Index i, Index) { return i % 3 == 2; }).where, "rows 2, 5, all columns");
  EXPECT_EQ(differ([](Index i, Index j) { return i == 1 && j >= 2 && j < 8 && j % 2 == 0; }).where, "row 1, columns 2:7:2");
  EXPECT_EQ(differ([](Index i, Index j) { return i >= 2 && i < 4 && j == 7; }).where, "rows 2:4, column 7");
  EXPECT_EQ(differ([](Index i, Index j) { return i == j; }).where, "all rows, the first 6 columns (6 of these 36 elements)");
}

TEST_F(Matrices, CountsAndHistogram) {
  right[5] = std::nextafter(1.0f, 0.0f);
  right[20] = 1 + 3 * 0x1p-23f;
  right[21] = 1 + 0x1p-3f;
  Comparison c = run();
  EXPECT_EQ(c.elements, 72);
  EXPECT_EQ(c.different, 3);
  EXPECT_EQ(c.max_ulp, 1u << 20);
  EXPECT_EQ(c.histogram, (std::array<Index, 9>{69, 1, 0, 1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(c.first_row, 0);
  EXPECT_EQ(c.first_col, 5);
  EXPECT_EQ(c.first, "0x3f800000 (1) and 0x3f7fffff (0.99999994)");
  right[70] = inf;
  c = run();
  EXPECT_FALSE(c.max_ulp);
  EXPECT_EQ(c.histogram[8], 1);
  EXPECT_EQ(c.different, 4);
}

TEST_F(Matrices, HistogramEdges) {
  const std::uint32_t one = std::bit_cast<std::uint32_t>(1.0f);
  const std::uint32_t distance[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 1024, 1025};
  for (std::size_t i = 0; i < std::size(distance); ++i) right[i] = std::bit_cast<float>(one + distance[i]);
  EXPECT_EQ(run().histogram, (std::array<Index, 9>{61, 1, 1, 2, 2, 2, 2, 1, 0}));
}

TEST_F(Matrices, ShapesMustAgree) {
  EXPECT_THROW(compare<float>(row_major<const float>(left.data(), 6, 12), row_major<const float>(right.data(), 12, 6)),
               Error);
}

}  // namespace
}  // namespace samebits::explain
