// SPDX-License-Identifier: Apache-2.0
// The simulator's own tests: right kernels pass, each seeded bug is caught in the way its test says.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "cuda/seeded_bugs.cuh"

namespace samebits::cuda::sim {
namespace {

constexpr int steps = 6;

// The number of wrong results; NaN is wrong.
int wrong_results(Bug bug, const Options& options) {
  std::vector<float> in(steps * bug_threads), out(bug_threads, NAN);
  std::iota(in.begin(), in.end(), 1.0f);
  launch(reversed_sums, BugArguments{in.data(), out.data(), steps, bug}, 1, bug_threads, bug_shared_bytes, options);
  int wrong = 0;
  for (int t = 0; t < bug_threads; ++t) {
    float sum = 0;
    for (int step = 0; step < steps; ++step) sum += in[static_cast<std::size_t>(step * bug_threads + bug_threads - 1 - t)];
    wrong += out[static_cast<std::size_t>(t)] != sum;
  }
  return wrong;
}

std::string failure(Bug bug, const Options& options = {}) {
  try {
    wrong_results(bug, options);
    return "nothing reported";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Simulator, RunsACorrectKernelInEverySetting) {
  for (bool late : {false, true})
    for (bool reverse : {false, true})
      EXPECT_EQ(wrong_results(Bug::none, {.late_copies = late, .reverse_threads = reverse}), 0) << late << reverse;
}

TEST(Simulator, MissingBarrierGivesWrongValues) {
  EXPECT_GT(wrong_results(Bug::missing_barrier, {.late_copies = true}), 0);
  EXPECT_GT(wrong_results(Bug::missing_barrier, {.late_copies = false}), 0);
}

TEST(Simulator, IndexOffByOneIsReportedAtItsLine) {
  EXPECT_TRUE(failure(Bug::index_off_by_one).starts_with("shared memory out of bounds: byte 512 of 512 at seeded_bugs.cuh:"))
      << failure(Bug::index_off_by_one);
}

TEST(Simulator, PlainStorePastTheEndIsFoundInTheGuardZone) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer stops at the store itself";
#endif
  EXPECT_EQ(failure(Bug::store_past_end), "shared memory out of bounds: written at byte 512 of 512");
}

TEST(Simulator, WaitTooWeakGivesNaNWhenCopiesAreLate) {
  EXPECT_EQ(wrong_results(Bug::wait_too_weak, {.late_copies = true}), bug_threads);
  EXPECT_EQ(wrong_results(Bug::wait_too_weak, {.late_copies = false}), 0);  // cannot be seen so
}

TEST(Simulator, StageOverwrittenTooEarlyGivesWrongValues) {
  EXPECT_GT(wrong_results(Bug::overwritten_too_early, {.late_copies = true}), 0);
  EXPECT_GT(wrong_results(Bug::overwritten_too_early, {.late_copies = false}), 0);
}

TEST(Simulator, DivergentBarrierIsReportedWithBothLines) {
  EXPECT_TRUE(failure(Bug::divergent_barrier).starts_with("divergent barrier: thread 32 at seeded_bugs.cuh:")) << failure(Bug::divergent_barrier);
}

TEST(Simulator, ThreadThatLeavesIsADeadlock) {
  const std::string text = failure(Bug::thread_left);
  EXPECT_TRUE(text.starts_with("deadlock: 63 threads wait at the barrier at seeded_bugs.cuh:")) << text;
  EXPECT_TRUE(text.ends_with("1 of 64 have ended")) << text;
}

TEST(Simulator, DivergentWarpIsReported) {
  EXPECT_TRUE(failure(Bug::divergent_warp).starts_with("divergent warp: thread ")) << failure(Bug::divergent_warp);
}

TEST(Simulator, MisalignedVectorLoadIsReported) {
  EXPECT_TRUE(failure(Bug::misaligned_load).starts_with("misaligned access: 16 bytes at seeded_bugs.cuh:")) << failure(Bug::misaligned_load);
}

TEST(Simulator, LaunchesAgainAfterAFailure) {
  failure(Bug::thread_left);
  EXPECT_EQ(wrong_results(Bug::none, {}), 0);
}

struct StrideArguments {
  int stride;
};
void strided(StrideArguments g) { store(reinterpret_cast<float*>(shared_memory()) + thread_index() * g.stride, 1.0f); }

TEST(Simulator, CountsBankConflicts) {
  for (auto [stride, replays] : {std::pair{1, 0}, {2, 1}, {32, 31}, {33, 0}, {0, 0}}) {
    const Report report = launch(strided, StrideArguments{stride}, 1, 32, 33 * 32 * 4, {.count_banks = true});
    ASSERT_EQ(report.shared.size(), 1u);
    EXPECT_EQ(report.shared[0].replays, static_cast<unsigned>(replays)) << "stride " << stride;
    EXPECT_EQ(report.shared[0].warps, 1u);
  }
}

struct OrderArguments {
  int* blocks;
  int* count;
};
void note_block(OrderArguments g) {
  if (thread_index() == 0) g.blocks[(*g.count)++] = block_index();
}

TEST(Simulator, RunsBlocksInBothOrders) {
  for (bool reverse : {false, true}) {
    std::vector<int> blocks(5);
    int count = 0;
    launch(note_block, OrderArguments{blocks.data(), &count}, 5, 32, 0, {.reverse_blocks = reverse});
    const std::vector<int> up{0, 1, 2, 3, 4}, down{4, 3, 2, 1, 0};
    EXPECT_EQ(blocks, reverse ? down : up);
  }
}

struct ShuffleArguments {
  int* out;
};
void butterfly(ShuffleArguments g) {
  int x = thread_index() % 32;
  for (int mask = 16; mask > 0; mask /= 2) x += shuffle_xor(x, mask);
  g.out[thread_index()] = x;
}

TEST(Simulator, ShufflesAreExchanges) {
  std::vector<int> out(64);
  launch(butterfly, ShuffleArguments{out.data()}, 1, 64, 0);
  EXPECT_EQ(out, std::vector<int>(64, 496));
}

struct MatricesArguments {
  std::uint32_t* out;  // 32 x 4
};
void read_matrices(MatricesArguments g) {
  auto* shared = reinterpret_cast<std::uint32_t*>(shared_memory());
  const int t = thread_index();
  for (int i = 0; i < 4; ++i) shared[t * 4 + i] = static_cast<std::uint32_t>(t * 4 + i);
  sync_threads();
  std::uint32_t r[4];
  load_matrices(r, shared + t * 4);
  for (int i = 0; i < 4; ++i) g.out[t * 4 + i] = r[i];
}

TEST(Simulator, LdmatrixGivesEachLaneItsElements) {
  std::vector<std::uint32_t> out(128);
  launch(read_matrices, MatricesArguments{out.data()}, 1, 32, 512);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    for (std::uint32_t matrix = 0; matrix < 4; ++matrix)
      EXPECT_EQ(out[lane * 4 + matrix], (matrix * 8 + lane / 4) * 4 + lane % 4);
}

struct WitnessArguments {
  float* out;
};
// The witness of the architectures: 2^23 - 2^23 - 0.5 - 0.25 - 0.125 in one block: -0.5 up to sm_89, -0.75 from sm_90.
void witness(WitnessArguments g) {
  const float a[4] = {-8192, -0.5f, -0.25f, -0.125f}, b[4] = {1024, 1, 1, 1};
  float d[4] = {8388608, 8388608, 8388608, 8388608};
  const int t = thread_index() % 4;
  const std::uint32_t fa[2] = {bits_of(a[t]), bits_of(a[t])}, fb[1] = {bits_of(b[t])};
  mma_tf32_k4(d, fa, fb);
  for (int i = 0; i < 4; ++i) g.out[thread_index() * 4 + i] = d[i];
}

TEST(Simulator, TensorCoreDependsOnTheArchitecture) {
  for (auto [architecture, value] : {std::pair{80, -0.5f}, {89, -0.5f}, {90, -0.75f}, {100, -0.75f}}) {
    std::vector<float> out(128);
    launch(witness, WitnessArguments{out.data()}, 1, 32, 0, {.architecture = architecture});
    EXPECT_EQ(out, std::vector<float>(128, value)) << "sm_" << architecture;
  }
}

struct MmaArguments {
  const double* a;  // 8 x 4
  const double* b;  // 4 x 8
  double* c;        // 8 x 8
};
void one_mma_f64(MmaArguments g) {
  const int row = thread_index() / 4, t = thread_index() % 4;
  double d[2] = {g.c[row * 8 + 2 * t], g.c[row * 8 + 2 * t + 1]};
  mma_f64(d, g.a[row * 4 + t], g.b[t * 8 + row]);
  g.c[row * 8 + 2 * t] = d[0];
  g.c[row * 8 + 2 * t + 1] = d[1];
}

TEST(Simulator, DoubleMmaIsAChainOfFma) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> a(32), b(32), c(64);
  for (auto* x : {&a, &b, &c}) std::generate(x->begin(), x->end(), [&] { return normal(random); });
  auto want = c;
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      for (std::size_t k = 0; k < 4; ++k) want[i * 8 + j] = std::fma(a[i * 4 + k], b[k * 8 + j], want[i * 8 + j]);
  launch(one_mma_f64, MmaArguments{a.data(), b.data(), c.data()}, 1, 32, 0);
  EXPECT_EQ(c, want);
}

}  // namespace
}  // namespace samebits::cuda::sim
