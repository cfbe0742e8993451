// SPDX-License-Identifier: Apache-2.0
// Orders that are known, found by probing: ours run them, the probe sees only the bits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "samebits/error.h"
#include "samebits/probe.h"

namespace samebits {
namespace {

ProbeResult probed(const std::string& order, Index m, Index n, Index k, DType dtype = DType::f32) {
  const auto backend = open_backend("samebits(order=" + order + ")");
  ProbeCall call;
  call.m = m, call.n = n, call.k = k, call.dtype = dtype;
  return probe(*backend, call);
}

void expect_found(const std::string& order, Index m, Index n, Index k, DType dtype = DType::f32) {
  const auto r = probed(order, m, n, k, dtype);
  EXPECT_EQ(r.status, ProbeResult::Status::reproduced) << order << "\n" << r.text();
  EXPECT_EQ(r.reproduced, m * n);
  const auto want = Order::parse(order);
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      const auto x = want.at(i, j), y = r.order.at(i, j);
      ASSERT_TRUE(equivalent(x, y, static_cast<std::size_t>(k))) << order << "\n"
                                                                 << r.text() << x.text() << " | " << y.text();
    }
}

TEST(Probe, FindsOrdersOfEveryKind) {
  for (const char* order :
       {"fma", "mul", "reverse > fma", "chunks(32) > fma", "chunks(40, balance=8) > mul", "split(4) > fma",
        "pairwise(8) > fma", "pairwise(1) > mul", "lanes(16, fold=halves, tail=lanes) > fma",
        "lanes(4, fold=pairs, tail=chain) > mul", "lanes(8, fold=hadd, tail=sum) > fma",
        "chunks(48) > lanes(2, step=8, fold=left, tail=lane0) > fma", "fma(seed=1)",
        "lanes(8, head=3@0, fold=halves, tail=chain) > mul", "mul(start=first)",
        "lanes(8, fold=halves, tail=chain, tailop=mul) > fma"}) {
    expect_found(order, 5, 7, 101);
    expect_found(order, 3, 4, 37, DType::f64);
    expect_found(order, 1, 3, 50);
    expect_found(order, 3, 3, 29);  // some lanes hold one product: too few elements to refute a wrong guess about it
  }
}

TEST(Probe, FindsWiderAccumulators) {
  for (const char* order : {"f64 > fma", "f64 > mul(round=f32)", "lanes(8, fold=hadd, tail=sum, tailop=f64mul) > mul",
                            "split(3) > f64 > fma", "lanes(32, fold=hadd, tail=sum, tailop=f64mul) > fma"}) {
    const auto r = probed(order, 3, 4, 77);
    EXPECT_TRUE(r.ok()) << order << "\n" << r.text();
    bool said = false;
    for (const auto& note : r.notes) said |= note.find("more than float32") != std::string::npos;
    EXPECT_TRUE(said) << order << "\n" << r.text();
  }
}

// Sums that are wide for a while: the loops of BLIS's axpyf for leftover columns add five rounded products in double, then
// store a float. Where the sum is rounded on its way decides, and which products are.
TEST(Probe, FindsWhereWideSumsAreRounded) {
  for (const char* order :
       {"tree(f64(f32(f64(f32(f64([0..4]:mul_f32)) + [5..9]:mul_f32)) + [10..14]:mul_f32) + [15..17]) > mul",
        "tree(f64(f32(f64([0..8]:fma)) + [9..17]:fma)) > fma", "tree([0..4] + f64([5..9]:mul_f32) + [10..17]) > fma",
        "tree(f64(f32([0..4]) + [5..8]:mul_f32 + f32([9..12]) + [13..17]:mul_f32)) > fma",
        "tree(f64([0..4]:mul_f32) + f64([5..9]:mul_f32) + ([10..13] + ([14..17]))) > mul"})
    for (const Index m : {1, 4}) expect_found(order, m, 3, 18);
}

TEST(Probe, FindsRoundedInputs) {
  for (const char* order :
       {"fp16(rne) > fma", "fp16(rne) > chunks(32) > fma", "tf32(rna) > fma", "tf32(rne) > chunks(32) > fma",
        "tf32(rz) > fma", "bf16(rne) > lanes(4, fold=pairs, tail=lanes) > fma"}) {
    const auto r = probed(order, 5, 6, 70);
    EXPECT_TRUE(r.ok()) << r.text();
    EXPECT_EQ(r.order.input(), Order::parse(order).input()) << r.text();
  }
}

TEST(Probe, FindsFusedBlocksAndTheirBits) {
  for (const char* order : {"fp16(rne) > mma(8,24)", "fp16(rne) > mma(16,25)", "tf32(rna) > mma(4,24)",
                            "tf32(rz) > mma(8,25)", "bf16(rne) > mma(16,25)", "tf32(rz) > split(2) > mma(8,25)"}) {
    for (const Index k : {5, 16, 64, 100}) {
      const auto r = probed(order, 4, 4, k);
      EXPECT_TRUE(r.ok()) << order << " k " << k << "\n" << r.text();
    }
    const auto r = probed(order, 4, 4, 64);
    EXPECT_TRUE(equivalent(r.order, Order::parse(order), 64)) << r.text();
    bool said = false;
    for (const auto& note : r.notes) said |= note.find("fused blocks") != std::string::npos;
    EXPECT_TRUE(said) << r.text();
  }
}

TEST(Probe, FindsTheExactSum) {
  EXPECT_EQ(probed("exact", 4, 4, 64).order.text(), "exact");
}

TEST(Probe, FindsRoundedResults) {
  const auto r = probed("out(bf16) > fma", 4, 4, 20);
  EXPECT_TRUE(r.ok()) << r.text();
  EXPECT_EQ(r.order.out(), Format::bf16);
}

TEST(Probe, FindsRegions) {
  const std::string order =
      "regions(rows=0:6 cols=0:8: lanes(2, step=8, fold=left, tail=lane0) > fma; rows=12:14 cols=0:20:4: mul; rest: "
      "chunks(32) > fma)";
  const auto r = probed(order, 14, 20, 45);
  EXPECT_TRUE(r.ok()) << r.text();
  EXPECT_EQ(r.regions.size(), 3u) << r.text();
  EXPECT_EQ(r.regions[0].elements, 14 * 20 - 48 - 10);
  expect_found(order, 14, 20, 45);
}

TEST(Probe, FindsTheEpilogue) {
  for (const char* order :
       {"epilogue(fused) > fma", "epilogue(alpha=block, c=first, fused) > chunks(32) > fma",
        "epilogue(alpha=block, c=first) > chunks(32) > fma", "epilogue(alpha=a) > lanes(4, fold=pairs, tail=chain) > fma",
        "epilogue(c=first, alpha=a) > chunks(32) > fma"}) {
    const auto r = probed(order, 6, 7, 90);
    EXPECT_EQ(r.order.epilogue(), Order::parse(order).epilogue()) << order << "\n" << r.text();
  }
}

TEST(Probe, AUniformOrderNeedsFewCalls) {
  for (const char* order : {"fma", "chunks(256) > fma", "lanes(16, fold=halves, tail=lanes) > fma"}) {
    const auto r = probed(order, 512, 512, 2048);
    EXPECT_TRUE(r.ok()) << r.text();
    EXPECT_LE(r.calls, 20) << r.text();
    EXPECT_TRUE(equivalent(r.order, Order::parse(order), 2048)) << r.text();
  }
}

// Random explicit trees, each a different one: what the language can write, the probe finds.
TEST(Probe, FindsRandomTrees) {
  std::mt19937 engine(5);
  for (int n = 0; n < 30; ++n) {
    std::vector<std::string> sums;
    for (int k = 0; k < 12; ++k) sums.push_back(std::to_string(k));
    while (sums.size() > 1) {
      const auto i = engine() % sums.size();
      auto x = sums[i];
      sums.erase(sums.begin() + static_cast<std::ptrdiff_t>(i));
      auto& y = sums[engine() % sums.size()];
      y = engine() % 2 == 0 || x.find('+') != std::string::npos ? y + " + (" + x + ")" : y + " + " + x;
    }
    expect_found("tree(" + sums[0] + ") > " + (n % 3 == 0 ? "mul" : "fma"), 2, 3, 12);
  }
}

std::unique_ptr<Backend> summing(std::function<float(const BackendCall<float>&, Index, Index)> sum) {
  return make_backend("test", [sum](const BackendCall<float>& x) {
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) {
        const float t = x.alpha * sum(x, i, j);
        float& c = x.c[i * x.ldc + j];
        c = x.beta == 0 ? t : t + x.beta * c;
      }
  });
}

ProbeCall call_of(Index m, Index n, Index k) {
  ProbeCall call;
  call.m = m, call.n = n, call.k = k;
  return call;
}

TEST(Probe, SaysWhatIsNoOrder) {
  std::mt19937 engine(3);
  const auto random = summing([&](const BackendCall<float>& x, Index i, Index j) {
    const Index cut = static_cast<Index>(engine() % static_cast<unsigned>(x.k));
    float s = 0, t = 0;
    for (Index k = 0; k < cut; ++k) s += x.a[i * x.lda + k] * x.b[k * x.ldb + j];
    for (Index k = cut; k < x.k; ++k) t += x.a[i * x.lda + k] * x.b[k * x.ldb + j];
    return s + t;
  });
  EXPECT_EQ(probe(*random, call_of(6, 7, 40)).status, ProbeResult::Status::not_deterministic);

  // The order depends on the values: the largest product first.
  const auto by_value = summing([](const BackendCall<float>& x, Index i, Index j) {
    std::vector<float> p;
    for (Index k = 0; k < x.k; ++k) p.push_back(x.a[i * x.lda + k] * x.b[k * x.ldb + j]);
    std::sort(p.begin(), p.end(), [](float a, float b) { return std::abs(a) > std::abs(b); });
    float s = 0;
    for (const float v : p) s += v;
    return s;
  });
  const auto r = probe(*by_value, call_of(6, 7, 40));
  EXPECT_FALSE(r.ok());
  EXPECT_FALSE(r.notes.empty()) << r.text();
}

TEST(Probe, SeesFlushedSubnormals) {
  const auto flushes = summing([](const BackendCall<float>& x, Index i, Index j) {
    float s = 0;
    for (Index k = 0; k < x.k; ++k) {
      s += x.a[i * x.lda + k] * x.b[k * x.ldb + j];
      if (std::abs(s) < std::numeric_limits<float>::min()) s = 0;
    }
    return s;
  });
  EXPECT_TRUE(probe(*flushes, call_of(4, 4, 9)).flushes_subnormal_results);
  EXPECT_FALSE(probed("fma", 4, 4, 9).flushes_subnormal_results);
}

// The reverse: an answer must not be given where replay fails. A tree with one wrong join would still look like a chain.
TEST(Probe, NeverClaimsWhatReplayRefutes) {
  const auto twisted = summing([](const BackendCall<float>& x, Index i, Index j) {
    float s = 0;
    for (Index k = 0; k < x.k; ++k) s += x.a[i * x.lda + k] * x.b[k * x.ldb + j];
    return s != std::floor(s) ? std::nextafter(s, 1e30f) : s;  // right on every masked call, wrong on real data
  });
  const auto r = probe(*twisted, call_of(6, 7, 20));
  EXPECT_EQ(r.status, ProbeResult::Status::not_reproduced) << r.text();
  EXPECT_EQ(r.reproduced, 0);
}

TEST(Probe, RefusesEmptyProductsAndMissingTypes) {
  const auto backend = open_backend("naive");
  EXPECT_THROW(probe(*backend, call_of(0, 1, 1)), Error);
  auto call = call_of(1, 1, 1);
  call.dtype = DType::f64;
  EXPECT_THROW(probe(*make_backend("f32", [](const BackendCall<float>&) {}), call), Error);
  ProbeOptions few;
  few.max_calls = 5;
  EXPECT_THROW(probe(*backend, call_of(3, 3, 40), few), Error);
}

TEST(Probe, NamesTheProfile) {
  // ONNX Runtime's prepacked blocks of 256.
  const auto r = probed("chunks(256) > fma", 5, 40, 600);
  ASSERT_TRUE(r.ok());
  EXPECT_NE(std::find(r.profiles.begin(), r.profiles.end(), "onnxruntime-cpu"), r.profiles.end()) << r.text();
  EXPECT_TRUE(probed("chunks(77) > mul", 5, 6, 600).profiles.empty());
}

}  // namespace
}  // namespace samebits
