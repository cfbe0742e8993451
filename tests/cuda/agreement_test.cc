// SPDX-License-Identifier: Apache-2.0
// The CPU and the simulated GPU give the same bits, whatever the order and the shape.
#include <gtest/gtest.h>

#include "order/random.h"
#include "samebits/gemm.h"
#include "simulated.h"

namespace samebits::cuda {
namespace {

template <class T>
int compare_draws(int draws, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto any = [&](Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(random); };
  int with_merges = 0, refused = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const Index m = any(1, 70), n = any(1, 70), k = any(1, 150);
    const Order order = order::random_order(random, static_cast<std::uint32_t>(k), {.program = true, .input = sizeof(T) == 4 && draw % 3 == 0, .epilogue = true});
    Stored<T> a(m, k, draw % 2 ? Layout::row : Layout::column), b(k, n, draw % 4 < 2 ? Layout::row : Layout::spread), c(m, n, Layout::padded_row);
    fill(a.view, random, Values::wide);
    fill(b.view, random, Values::wide);
    fill(c.view, random, Values::normal);
    Stored<T> want = c;
    T alpha = draw % 2 ? T(1) : T(0.7), beta = draw % 3 ? T(-1.3) : T(0);
    try {
      gemm(alpha, a.in(), b.in(), beta, want.view, order);
    } catch (const Error&) {  // an epilogue that has no meaning for these
      gemm(alpha = T(1), a.in(), b.in(), beta = T(0), want.view, order);
    }
    Choices choices;
    choices.tile = draw % 2 ? Choices::Tile::large : Choices::Tile::automatic;
    choices.pieces = draw % 4 == 3 ? Choices::Pieces::several_blocks : Choices::Pieces::automatic;
    const LaunchPlan<T> plan(order, m, n, k, {}, choices);
    with_merges += plan.program().runs.size() > 1;
    sim::SimulatedExecutor executor({.late_copies = draw % 2 == 0, .reverse_blocks = draw % 3 == 0, .reverse_threads = draw % 5 == 0});
    try {
      run_simulated(plan, executor, alpha, a.in(), b.in(), beta, c.view, {});
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("epilogue(c=seed)"), std::string::npos) << order.text() << ": " << e.what();
      ++refused;
      continue;
    }
    EXPECT_EQ(c.difference(want), "") << "draw " << draw << ": " << order.text() << " " << m << "x" << n << "x" << k << " on " << plan.kernel();
  }
  EXPECT_LT(refused, draws / 20);
  return with_merges;
}

TEST(CudaAgreement, FloatDrawsEqualTheCpu) { EXPECT_GT(compare_draws<float>(130, 1), 50); }
TEST(CudaAgreement, DoubleDrawsEqualTheCpu) { EXPECT_GT(compare_draws<double>(70, 2), 25); }

// The contract: an element depends on its row, its column and the order alone.
TEST(CudaAgreement, BitsDoNotDependOnShapePositionOrBlocks) {
  std::mt19937_64 random(3);
  const Index k = 75;
  Stored<float> a(150, k, Layout::row), b(k, 140, Layout::row), c(150, 140, Layout::row);
  fill(a.view, random, Values::wide);
  fill(b.view, random, Values::wide);
  for (const char* text : {"chunks(16) > fma", "lanes(8) > mul"}) {
    const Order order = Order::parse(text);
    sim::SimulatedExecutor executor;
    run_simulated(LaunchPlan<float>(order, 150, 140, k, {}), executor, 1.0f, a.in(), b.in(), 0.0f, c.view, {});
    for (auto [i, j, m, n] : {std::array<Index, 4>{0, 0, 1, 1}, {17, 9, 3, 50}, {149, 139, 1, 1}, {33, 0, 70, 140}, {1, 1, 149, 139}}) {
      Stored<float> part(m, n, Layout::column), same(m, n, Layout::column);
      for (Index x = 0; x < m; ++x)
        for (Index y = 0; y < n; ++y) same.view(x, y) = c.view(i + x, j + y);
      const MatrixView<const float> rows{&a.view(i, 0), m, k, a.view.row_stride, 1}, columns{&b.view(0, j), k, n, b.view.row_stride, 1};
      for (int processors : {1, 7, 132}) {
        DeviceLimits device;
        device.multiprocessors = processors;
        run_simulated(LaunchPlan<float>(order, m, n, k, device), executor, 1.0f, rows, columns, 0.0f, part.view, {});
        EXPECT_EQ(part.difference(same), "") << text << " at " << i << "," << j << " " << m << "x" << n;
      }
    }
  }
}

}  // namespace
}  // namespace samebits::cuda
