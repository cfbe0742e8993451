// SPDX-License-Identifier: Apache-2.0
// The trees of orders, and their rules found again: equivalent, and not longer than what was written.
#include "explain/recognise.h"

#include <gtest/gtest.h>

#include "explain/cover.h"

namespace samebits::explain {
namespace {

TEST(Recognise, FindsTheRuleAgain) {
  for (const char* text :
       {"fma", "mul", "reverse > fma", "fma(seed=1)", "mul(start=first)", "chunks(256) > fma", "chunks(100) > mul", "chunks(320, balance=8) > fma",
        "chunks(384, balance=half) > fma", "split(2) > fma", "split(4) > mul", "pairwise(8) > fma", "pairwise(16) > mul",
        "lanes(16, fold=halves, tail=lanes) > fma", "lanes(16, fold=pairs, tail=lanes) > fma", "lanes(8, fold=hadd, tail=sum) > fma",
        "lanes(4, fold=halves, tail=chain) > mul", "lanes(2, step=8, fold=left, tail=lane0) > fma", "lanes(8, fold=left, tail=first) > mul",
        "lanes(8, fold=halves, tail=chain, tailop=mul) > fma", "lanes(8, fold=hadd, tail=sum, tailop=f64mul) > mul",
        "chunks(256) > lanes(2, step=8, fold=left, tail=lane0) > fma", "split(4) > chunks(32) > fma", "f64 > fma", "f64 > mul(round=f32)",
        "split(4) > f64 > fma", "exact", "mma(4,24)", "mma(8,25)", "chunks(100) > mma(8,25)", "lanes(4, head=3@0, fold=halves, tail=chain) > mul"})
    for (const std::size_t k : {500, 1001}) {
      const auto order = Order::parse(text);
      const auto found = recognise(order.tree(k));
      ASSERT_TRUE(found) << text << " k " << k;
      EXPECT_TRUE(equivalent(order, *found, k)) << text << " as " << found->text() << " k " << k;
      EXPECT_LE(found->text().size(), order.text().size() + 4) << text << " as " << found->text() << " k " << k;
    }
}

TEST(Recognise, WritesOtherTreesOut) {
  for (const char* text : {"tree(0 + 2 + (1 + 3) + 4) > fma", "tree(0 + (3 + 1) + 2) > fma", "tree(0 + 4 + (1 + 2) + (3 + 5)) > mul", "tree(0 + 1:mul + 2) > fma"}) {
    const auto order = Order::parse(text);
    const auto tree = order.tree(order.text().find('5') != std::string::npos ? 6 : order.text().find('4') != std::string::npos ? 5 : order.text().find('3') != std::string::npos ? 4 : 3);
    const auto found = recognise(tree);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->tree(tree.k).hash(), tree.hash()) << text << " as " << found->text();
  }
}

TEST(Cover, HoldsEveryElementOnce) {
  const Index rows = 23, cols = 31;
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<std::uint32_t> label;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j)
        label.push_back(kind == 0   ? (i % 12 < 6 && (j < 8 || j >= 24))
                        : kind == 1 ? (j % 4 == 3) + 2 * (i % 5 == 0)
                        : kind == 2 ? static_cast<std::uint32_t>((i * 7 + j * 3) % 3)
                                    : (i >= 20) + (j >= 28));
    const auto patches = cover(label, rows, cols, 0);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < cols; ++j) {
        int times = 0;
        for (const auto& p : patches)
          if (p.rows.contains(i) && p.cols.contains(j)) {
            ++times;
            EXPECT_EQ(p.label, label[static_cast<std::size_t>(i * cols + j)]);
          }
        EXPECT_EQ(times, label[static_cast<std::size_t>(i * cols + j)] != 0) << kind << " (" << i << ", " << j << ")";
      }
    if (kind == 0) { EXPECT_LE(patches.size(), 8u); }
    if (kind == 1) { EXPECT_LE(patches.size(), 8u); }
  }
}

}  // namespace
}  // namespace samebits::explain
