// SPDX-License-Identifier: Apache-2.0
// Our CUDA kernels, run in the simulator, against the reference: bits.
#include <gtest/gtest.h>

#include <set>

#include "order/random.h"
#include "simulated.h"

namespace samebits::cuda {
namespace {

using Tile = Choices::Tile;
using Pieces = Choices::Pieces;

const char* const program_orders[] = {
    "fma", "mul", "chunks(8) > fma", "chunks(32) > fma", "chunks(100) > fma", "chunks(32) > mul", "split(2) > fma", "split(4) > fma", "split(4) > mul",
    "lanes(4, fold=halves) > fma", "lanes(4, fold=pairs) > fma", "lanes(8, fold=halves) > fma", "lanes(8, fold=pairs) > fma",
    "lanes(8, fold=halves) > mul", "pairwise(8) > fma", "pairwise(8) > mul", "reverse > fma", "split(4) > chunks(32) > fma",
    "lanes(16, fold=halves, tail=lanes) > fma", "lanes(8, fold=hadd, tail=lane0) > mul"};

// Each shape has an edge in m, n and k for every tile; each order meets each of the kernels that can run it.
template <class T>
void check_orders(std::initializer_list<const char*> extra) {
  std::set<std::string> names;
  std::uint64_t seed = 0;
  std::vector<std::string> orders(std::begin(program_orders), std::end(program_orders));
  for (const char* order : extra) orders.emplace_back(order);
  for (const std::string& order : orders)
    for (Tile tile : {Tile::large, Tile::small}) {
      Problem<T> p{.order = order, .m = 133, .n = 71, .k = 107, .choices = {.tile = tile}, .seed = ++seed};
      p.a = seed % 3 == 0 ? Layout::padded_column : Layout::row;
      p.b = seed % 4 == 0 ? Layout::column : Layout::padded_row;
      p.c = seed % 5 == 0 ? Layout::padded_column : Layout::row;
      p.alpha = seed % 2 ? T(1) : T(-1.5);
      p.beta = seed % 3 ? T(0.75) : T(0);
      p.bias = seed % 5 < 2;
      p.values = seed % 7 == 0 ? Values::special : Values::wide;
      p.simulator = {.late_copies = seed % 2 == 0, .reverse_blocks = seed % 4 < 2, .reverse_threads = seed % 8 < 4};
      std::string kernels;
      EXPECT_EQ(check_problem(p, &kernels), "") << p.text() << ": " << kernels;
      names.insert(kernels);
    }
  EXPECT_GT(names.size(), 4u);
}

TEST(CudaKernels, FloatOrdersEqualTheReference) {
  check_orders<float>({"bf16(rne) > fma", "fp16(rne) > chunks(32) > fma", "tf32(rna) > fma", "f64 > fma", "f64 > mul(round=f32)",
                       "lanes(8, tail=chain, tailop=mul) > fma", "out(fp16) > fma", "out(bf16) > mul"});
}

TEST(CudaKernels, DoubleOrdersEqualTheReference) { check_orders<double>({"lanes(8, tail=chain, tailop=mul) > fma"}); }

TEST(CudaKernels, DoubleFmaOnSimtEqualsTheTensorCore) {
  Problem<double> p{.order = "chunks(21) > fma", .m = 67, .n = 70, .k = 90, .choices = {.tile = Tile::large}, .seed = 5};
  std::string tensor, simt;
  EXPECT_EQ(check_problem(p, &tensor), "");
  p.choices.tensor_f64 = false;
  EXPECT_EQ(check_problem(p, &simt), "");
  EXPECT_NE(tensor.find("dgemm_mma"), std::string::npos) << tensor;
  EXPECT_NE(simt.find("dgemm_simt"), std::string::npos) << simt;
}

// A padded product must not turn -0 into +0: all partial sums here are -0 or tiny.
TEST(CudaKernels, DoubleTensorCoreKeepsMinusZeroAtTheEndOfARun) {
  Stored<double> a(3, 5, Layout::row), b(5, 2, Layout::row), c(3, 2, Layout::row), want(3, 2, Layout::row);
  for (Index k = 0; k < 5; ++k) {
    for (Index i = 0; i < 3; ++i) a.view(i, k) = -std::numeric_limits<double>::denorm_min();
    for (Index j = 0; j < 2; ++j) b.view(k, j) = 0x1p-3;
  }
  const Order order = Order::parse("fma");
  reference::gemm(1.0, a.in(), b.in(), 0.0, want.view, order);
  EXPECT_TRUE(std::signbit(want.view(0, 0)));
  sim::SimulatedExecutor executor;
  run_simulated(LaunchPlan<double>(order, 3, 2, 5, {}, {.tile = Tile::large}), executor, 1.0, a.in(), b.in(), 0.0, c.view, {});
  EXPECT_EQ(c.difference(want), "");
}

struct TensorCase {
  const char* order;
  int architecture;
};

TEST(CudaKernels, TensorCoreOrdersEqualTheReference) {
  std::uint64_t seed = 100;
  for (auto [order, architecture] : {TensorCase{"tf32(rna) > mma(4,24)", 80}, {"tf32(rne) > mma(4,24)", 86}, {"tf32(rz) > mma(4,24)", 89},
                                     {"tf32(rz, raw) > mma(4,24)", 80}, {"tf32(rna) > mma(8,25)", 90}, {"tf32(rne) > mma(8,25)", 100},
                                     {"tf32(rz) > mma(8,25)", 90}, {"tf32(rna) > mma(4,25)", 90}, {"tf32(rna) > chunks(32) > mma(4,24)", 80},
                                     {"tf32(rna) > chunks(20) > mma(4,24)", 80}, {"tf32(rne) > split(3) > mma(8,25)", 90},
                                     {"tf32(rna) > chunks(12) > mma(4,25)", 90}, {"tf32(rna) > mma(4,24, first=32)", 80},
                                     {"tf32(rna) > mma(8,25, first=32)", 90}, {"tf32(rna) > lanes(4) > mma(8,25)", 90}})
    for (Tile tile : {Tile::large, Tile::small}) {
      Problem<float> p{.order = order, .m = 75, .n = 41, .k = 59, .choices = {.tile = tile}, .seed = ++seed};
      if (tile == Tile::large) p.m = 131;
      p.device.architecture = architecture;
      p.a = seed % 3 == 0 ? Layout::column : Layout::row;
      p.b = seed % 2 == 0 ? Layout::spread : Layout::backwards;
      p.alpha = seed % 3 ? 1.0f : 0.3f;
      p.beta = seed % 2 ? 1.0f : 0.0f;
      p.bias = seed % 4 == 0;
      p.values = seed % 5 == 0 ? Values::special : Values::wide;
      p.simulator = {.late_copies = seed % 4 < 2, .reverse_threads = seed % 2 == 0};
      std::string kernels;
      EXPECT_EQ(check_problem(p, &kernels), "") << p.text() << ": " << kernels;
    }
}

TEST(CudaKernels, AllShapesAroundATile) {
  for (Index m : {1, 31, 32, 33})
    for (Index n : {1, 5, 64, 65})
      for (Index k : {0, 1, 15, 16, 17, 33}) {
        Problem<float> p{.order = "chunks(8) > fma", .m = m, .n = n, .k = k, .values = Values::special};
        p.seed = static_cast<std::uint64_t>(m * 10000 + n * 100 + k);
        EXPECT_EQ(check_problem(p), "") << p.text();
      }
}

TEST(CudaKernels, SeveralBlocksForOneTileGiveTheSameBits) {
  for (const char* order : {"split(4) > fma", "chunks(32) > fma", "chunks(50) > lanes(4) > mul", "split(3) > pairwise(8) > fma"}) {
    Problem<float> p{.order = order, .m = 37, .n = 29, .k = 301, .alpha = 0.5f, .beta = 2.0f, .bias = true, .choices = {.pieces = Pieces::several_blocks}};
    std::string kernels;
    EXPECT_EQ(check_problem(p, &kernels), "") << p.text();
    EXPECT_NE(kernels.find("fold_f32"), std::string::npos) << order << ": " << kernels;
  }
  Problem<float> tensor{.order = "tf32(rna) > split(4) > mma(8,25)", .m = 37, .n = 29, .k = 301, .choices = {.pieces = Pieces::several_blocks}};
  tensor.device.architecture = 90;
  EXPECT_EQ(check_problem(tensor), "") << tensor.text();
  Problem<double> wide{.order = "split(2) > fma", .m = 7, .n = 6, .k = 300, .choices = {.pieces = Pieces::several_blocks}};
  EXPECT_EQ(check_problem(wide), "") << wide.text();
}

TEST(CudaKernels, DeepStacksUseTheWorkspace) {
  Problem<float> p{.order = "pairwise(4) > fma", .m = 40, .n = 50, .k = 500};
  p.device.shared_per_block = 40000;  // no level fits
  EXPECT_EQ(check_problem(p), "") << p.text();
  p.device.multiprocessors = 1;  // blocks take several tiles
  p.m = 300;
  EXPECT_EQ(check_problem(p), "") << p.text();
}

TEST(CudaKernels, EpilogueSpecialCases) {
  for (float alpha : {0.0f, 1.0f, -2.0f})
    for (float beta : {0.0f, 1.0f, 0.5f})
      for (const char* order : {"fma", "epilogue(fused) > fma"}) {
        Problem<float> p{.order = order, .m = 9, .n = 11, .k = 13, .alpha = alpha, .beta = beta, .values = Values::special};
        EXPECT_EQ(check_problem(p), "") << p.text();
      }
}

// Where alpha and C enter: on each piece, on A, before the sum, in the first chain.
TEST(CudaKernels, EpiloguesOfLibrariesEqualTheReference) {
  struct Case {
    const char* order;
    int architecture = 80;
  };
  std::uint64_t seed = 200;
  const auto check = [&]<class T>(const Case& c, T alpha) {
    for (Pieces pieces : {Pieces::one_block, Pieces::several_blocks, Pieces::automatic}) {
      Problem<T> p{.order = c.order, .m = 37, .n = 41, .k = 75, .alpha = alpha, .beta = seed % 4 ? T(-1.25) : T(1)};
      p.seed = ++seed;
      p.choices = {.tile = seed % 2 ? Tile::large : Tile::small, .pieces = pieces};
      p.device.architecture = c.architecture;
      p.bias = seed % 3 == 0;
      p.c = seed % 5 < 2 ? Layout::padded_column : Layout::row;
      p.values = seed % 7 == 0 ? Values::special : Values::wide;
      EXPECT_EQ(check_problem(p), "") << p.text();
    }
  };
  for (const char* order : {"epilogue(alpha=block) > chunks(16) > fma", "epilogue(alpha=block, fused) > chunks(16) > mul", "epilogue(alpha=block, c=first) > split(5) > fma",
                            "epilogue(alpha=block, c=first, fused) > chunks(32) > lanes(4) > fma", "epilogue(alpha=block, c=first) > fma",
                            "epilogue(alpha=block, c=first) > lanes(8) > mul", "epilogue(alpha=a) > fma", "epilogue(alpha=a, c=first) > chunks(20) > fma",
                            "epilogue(alpha=a, c=seed) > fma", "epilogue(alpha=a, c=seed) > lanes(4) > mul"}) {
    check(Case{order}, 0.7f);
    check(Case{order}, 0.7);
    check(Case{order}, 1.0f);
  }
  for (const char* order : {"epilogue(c=first) > chunks(8) > fma", "epilogue(c=seed) > fma", "epilogue(c=seed) > chunks(16) > mul", "epilogue(c=seed) > split(3) > lanes(4) > fma", "epilogue(c=seed) > pairwise(8) > fma"}) {
    check(Case{order}, 1.0f);
    check(Case{order}, 1.0);
  }
  for (const char* order : {"epilogue(alpha=block, c=first, fused) > f64 > fma", "epilogue(alpha=block) > f64 > split(3) > fma", "epilogue(alpha=block, c=first) > f64 > mul(round=f32)",
                            "epilogue(alpha=a) > bf16(rne) > fma", "epilogue(alpha=a, c=seed) > f64 > fma"})
    check(Case{order}, 1.3f);
  for (const Case& c : {Case{"epilogue(c=seed) > tf32(rna) > mma(4,24)", 80}, {"epilogue(c=seed) > tf32(rne) > mma(8,25)", 90}, {"epilogue(c=seed) > tf32(rna) > chunks(20) > mma(4,25)", 90},
                        {"epilogue(c=first) > tf32(rna) > chunks(20) > mma(4,24)", 80}})
    check(c, 1.0f);
  check(Case{"epilogue(alpha=block, c=first) > tf32(rna) > split(3) > mma(8,25)", 90}, -0.3f);
}

TEST(CudaKernels, EpiloguesWithoutProducts) {
  for (const char* order : {"epilogue(c=seed) > fma", "epilogue(c=first) > chunks(8) > fma", "epilogue(alpha=block, fused) > chunks(8) > fma"})
    for (auto [k, alpha] : {std::pair<Index, float>{0, 1.0f}, {3, 0.0f}}) {
      Problem<float> p{.order = order, .m = 9, .n = 11, .k = k, .alpha = alpha, .beta = 1, .values = Values::special};
      EXPECT_EQ(check_problem(p), "") << p.text();
    }
}

TEST(CudaKernels, EpiloguesThatHaveNoMeaningAreErrors) {
  const auto message = [](const char* order, float alpha, int architecture = 80) -> std::string {
    Stored<float> a(4, 8, Layout::row), b(8, 4, Layout::row), c(4, 4, Layout::row);
    sim::SimulatedExecutor executor;
    try {
      run_simulated(LaunchPlan<float>(Order::parse(order), 4, 4, 8, {.architecture = architecture}), executor, alpha, a.in(), b.in(), 1.0f, c.view, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::unsupported);
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message("epilogue(c=seed) > fma", 2).find("c=first|seed"), std::string::npos);
  EXPECT_NE(message("epilogue(c=first) > chunks(4) > fma", 2).find("c=first|seed"), std::string::npos);
  EXPECT_NE(message("epilogue(alpha=a) > tf32(rna) > mma(4,24)", 2).find("alpha=a"), std::string::npos);
}

TEST(CudaKernels, NoBankConflicts) {
  const auto replays = [](auto p, const char* name) {
    using T = decltype(p.alpha);
    p.simulator.count_banks = true;
    std::mt19937_64 random(1);
    Stored<T> a(p.m, p.k, p.a), b(p.k, p.n, p.b), c(p.m, p.n, p.c);
    fill(a.view, random, Values::normal);
    fill(b.view, random, Values::normal);
    sim::Options options = p.simulator;
    options.architecture = p.device.architecture;
    sim::SimulatedExecutor executor(options);
    run_simulated(LaunchPlan<T>(Order::parse(p.order), p.m, p.n, p.k, p.device, p.choices), executor, T(1), a.in(), b.in(), T(0), c.view, {});
    std::uint64_t phases = 0;
    bool found = false;
    for (const auto& [kernel, report] : executor.reports()) {
      found |= kernel.starts_with(name);
      for (const auto& access : report.shared) {
        EXPECT_EQ(access.replays, 0u) << kernel << " at " << access.where;
        phases += access.phases;
      }
    }
    EXPECT_TRUE(found) << name;
    EXPECT_GT(phases, 0u);
  };
  for (Layout a : {Layout::row, Layout::column}) {
    replays(Problem<float>{.order = "chunks(16) > fma", .m = 128, .n = 128, .k = 64, .a = a, .choices = {.tile = Tile::large}}, "sgemm_simt_128");
    replays(Problem<float>{.order = "lanes(4) > mul", .m = 64, .n = 64, .k = 64, .a = a, .choices = {.tile = Tile::small}}, "sgemm_simt_32");
    replays(Problem<double>{.order = "chunks(16) > fma", .m = 64, .n = 64, .k = 64, .a = a, .choices = {.tile = Tile::large}}, "dgemm_mma");
    replays(Problem<double>{.order = "chunks(16) > mul", .m = 64, .n = 64, .k = 64, .a = a, .choices = {.tile = Tile::large}}, "dgemm_simt_64");
    replays(Problem<double>{.order = "chunks(16) > mul", .m = 64, .n = 64, .k = 64, .a = a, .choices = {.tile = Tile::small}}, "dgemm_simt_32");
    replays(Problem<float>{.order = "tf32(rna) > mma(4,24)", .m = 128, .n = 128, .k = 64, .a = a, .choices = {.tile = Tile::large}}, "sgemm_tf32_128");
    replays(Problem<float>{.order = "tf32(rna) > mma(4,24)", .m = 64, .n = 64, .k = 64, .a = a, .choices = {.tile = Tile::small}}, "sgemm_tf32_64");
  }
}

std::string refusal(const char* order, int architecture, bool doubles = false) {
  DeviceLimits device;
  device.architecture = architecture;
  try {
    if (doubles) {
      LaunchPlan<double>(Order::parse(order), 4, 4, 16, device);
    } else {
      LaunchPlan<float>(Order::parse(order), 4, 4, 16, device);
    }
    return "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    return error.what();
  }
}

TEST(CudaKernels, RefusalsNameTheStageAndTheArchitecture) {
  EXPECT_EQ(refusal("tf32(rna) > mma(8,25)", 80), "cuda: mma(8,25) is not what the tensor cores of sm_80 compute for tf32 inputs: they offer mma(4,24)");
  EXPECT_EQ(refusal("tf32(rna) > mma(4,24)", 90),
            "cuda: mma(4,24) is not what the tensor cores of sm_90 compute for tf32 inputs: they offer mma(8,25) and mma(4,25)");
  EXPECT_EQ(refusal("tf32(rna) > mma(4,25)", 100), "cuda: mma(4,25) is not what the tensor cores of sm_100 compute for tf32 inputs: they offer mma(8,25)");
  EXPECT_EQ(refusal("exact", 80), "cuda: exact has no kernel");
  EXPECT_EQ(refusal("mma(4,24)", 80), "cuda: mma has kernels for tf32(...) inputs only");
  EXPECT_EQ(refusal("bf16(rne) > mma(8,24)", 80), "cuda: mma has kernels for tf32(...) inputs only");
  EXPECT_EQ(refusal("tf32(rna) > fma", 80, true), "cuda: rounding of double inputs has no kernel");
  EXPECT_EQ(refusal("split(4) > f64 > fma", 80), "cuda: f64 inside an order (it must round once, at the end) has no kernel");
  EXPECT_EQ(refusal("regions(rows=0:1 cols=0:1: mul; rest: fma)", 80), "cuda: regions(...): run each region's order on its rows and columns");
  EXPECT_EQ(refusal("tf32(rna) > mma(4,24)", 86), "accepted");
}

}  // namespace
}  // namespace samebits::cuda
