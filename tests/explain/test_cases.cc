// SPDX-License-Identifier: Apache-2.0
// The recorded results: which order each side is explained by, and which stay ambiguous.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>

#include "explain/compare.h"
#include "explain/products.h"
#include "explain/regions.h"
#include "explain/search.h"
#include "profiles/profile.h"

namespace samebits::explain {
namespace {

// `order`: an equivalent one; "@NAME": with regions, by that profile; "?": reproduced and ambiguous.
struct Expected {
  const char *side, *order;
};

template <class T>
void expect(const Recorded<T>& recorded, const SideReport& s, const Expected& expected) {
  const std::string order = expected.order;
  const Problem<T>& p = recorded.problem;
  SCOPED_TRACE(fmt::format("{}/{}", recorded.directory.filename().string(), expected.side));
  EXPECT_EQ(s.reproduced, p.elements());
  if (order == "?") {
    EXPECT_FALSE(s.explained);
    ASSERT_FALSE(s.regions.empty());
    EXPECT_GT(s.regions[0].candidates, 100);
    EXPECT_FALSE(s.regions[0].probe.empty());
    return;
  }
  EXPECT_TRUE(s.explained) << s.order;
  ASSERT_FALSE(s.regions.empty());
  for (const auto& r : s.regions) EXPECT_EQ(r.candidates, 1);
  if (order.starts_with('@')) {
    EXPECT_GT(s.regions.size(), 1u);
    ASSERT_FALSE(s.regions[0].profiles.empty());
    EXPECT_TRUE(std::ranges::any_of(s.regions[0].profiles, [&](const auto& name) {
      return name.starts_with(order.substr(1) + "(");
    })) << s.regions[0].profiles[0];
    return;
  }
  const Order found = Order::parse(s.order).at(0, 0);
  EXPECT_EQ(s.regions.size(), 1u);
  EXPECT_EQ(equivalence_key(found, p.k(), !p.c.empty()), equivalence_key(Order::parse(order), p.k(), !p.c.empty()))
      << found.text();
}

template <class T>
Report expect_pair(const Recorded<T>& recorded, const Expected& left, const Expected& right) {
  const Report r = explain(recorded.problem, recorded.side(left.side), recorded.side(right.side), {.threads = 2});
  expect(recorded, r.sides[0], left);
  expect(recorded, r.sides[1], right);
  return r;
}

TEST(Cases, Linear5To7) {
  const Recorded<float> recorded("linear-5-7-f32");
  auto r = expect_pair(recorded, {"torch-cpu", "@pytorch-cpu"}, {"ort-cpu", "fma"});
  EXPECT_EQ(r.verdict, Verdict::explained);
  EXPECT_EQ(r.different, 15);
  r = expect_pair(recorded, {"numpy", "fma"}, {"ort-cpu", "fma"});
  EXPECT_EQ(r.verdict, Verdict::equal);
}

TEST(Cases, Linear5To7IsExplainedByAlignmentAlone) {
  const Recorded<float> recorded("linear-5-7-f32");
  const auto values = recorded.side("torch-cpu").values;
  profiles::Call call{.m = 6, .n = 7, .k = 5, .trans_b = true, .a_shape = {2, 3, 5}, .b_shape = {7, 5}};
  for (const auto& [offset, agreeing] : {std::pair{"0", 42}, {"4", 36}, {"8", 35}, {"12", 35}}) {
    const auto order = profiles::resolve(Order::parse(fmt::format("pytorch-cpu(dispatch=amd, offset={})", offset)), call);
    ASSERT_TRUE(order);
    const auto v = Made<float>::result_of(recorded.problem, *order);
    EXPECT_EQ(std::ranges::count_if(std::views::iota(0, 42), [&](int e) { return same_bits(v[e], values[e]); }), agreeing)
        << offset;
  }
  // No list of regions found by search may claim it.
  Options options;
  Search<float> search(recorded.problem, Format::none, options);
  search.whole(values);
  for (const auto& r : regions(search, values, options)) EXPECT_FALSE(r.identified) << r.order;
}

TEST(Cases, Linear5To7InDoubleIsAmbiguous) {
  const Recorded<double> recorded("linear-5-7-f64");
  const auto r = expect_pair(recorded, {"torch-cpu", "?"}, {"ort-cpu", "?"});
  EXPECT_EQ(r.verdict, Verdict::ambiguous);
  EXPECT_EQ(r.different, 2);
  expect_pair(recorded, {"numpy", "?"}, {"ort-cpu", "?"});
}

TEST(Cases, BatchOfTwoElementsIsAmbiguous) {
  EXPECT_EQ(expect_pair(Recorded<float>("bmm-small", false), {"torch-cpu", "?"}, {"numpy", "?"}).verdict,
            Verdict::ambiguous);
}

TEST(Cases, Linear500To64) {
  const Recorded<float> recorded("linear-500-64");
  expect_pair(recorded, {"torch-cpu", "chunks(192) > fma"}, {"ort-cpu", "chunks(256) > fma"});
  expect_pair(recorded, {"ort-cpu-b-is-an-input", "chunks(256) > fma"}, {"numpy-skylakex", "chunks(256,244) > fma"});
  expect_pair(recorded, {"numpy-haswell", "@numpy"}, {"ort-cpu", "chunks(256) > fma"});
}

TEST(Cases, Linear500To64InDouble) {
  const Recorded<double> recorded("linear-64-64-500-f64");
  expect_pair(recorded, {"torch-cpu", "@pytorch-cpu"}, {"ort-cpu", "chunks(128) > fma"});
  expect_pair(recorded, {"numpy-skylakex", "chunks(256,244) > fma"}, {"ort-cpu", "chunks(128) > fma"});
}

TEST(Cases, LinearWithBias) {
  const Recorded<float> recorded("linear-bias");
  expect_pair(recorded, {"torch-cpu", "epilogue(c=first) > chunks(192) > fma"},
              {"ort-cpu-gemm", "epilogue(c=first) > chunks(256) > fma"});
  expect_pair(recorded, {"numpy", "lanes(16, fold=pairs, tail=lanes) > fma"}, {"ort-cpu-matmul-add", "chunks(256) > fma"});
}

TEST(Cases, Matmul48By40) {
  const Recorded<float> recorded("matmul-48-1000-40", false);
  expect_pair(recorded, {"torch-cpu", "chunks(192) > fma"}, {"ort-cpu", "chunks(256) > fma"});
  expect_pair(recorded, {"numpy-haswell", "@numpy"}, {"numpy-skylakex", "chunks(448,288,264) > fma"});
}

TEST(Cases, Threads) {
  expect_pair(Recorded<float>("openblas-threads", false), {"numpy-haswell-1-thread", "@openblas"},
              {"numpy-haswell-2-threads", "@openblas"});
  expect_pair(Recorded<float>("ort-threads", false), {"ort-cpu-1-thread", "chunks(256) > fma"},
              {"ort-cpu-2-threads", "@onnxruntime-cpu"});
}

TEST(Cases, OneRowAndTwo) {
  const Recorded<float> one("gemm-row-1-of-2");
  expect_pair(one, {"ort-cpu-1-row", "lanes(8, fold=tree([0..3] + ([4..7])), tail=lanes) > mul"},
              {"torch-cpu-1-row", "lanes(4, head=4@0, fold=halves, tail=chain) > mul"});
  expect_pair(one, {"numpy-1-row", "lanes(8, fold=hadd, tail=lanes) > fma"},
              {"torch-cpu-1-row", "lanes(4, head=4@0, fold=halves, tail=chain) > mul"});
  const Recorded<float> two("gemm-rows-2");
  expect_pair(two, {"ort-cpu-2-rows", "chunks(256) > fma"}, {"torch-cpu-2-rows", "lanes(4, fold=halves, tail=lanes) > mul"});
  expect_pair(two, {"numpy-2-rows", "lanes(16, fold=pairs, tail=lanes) > fma"},
              {"torch-cpu-2-rows", "lanes(4, fold=halves, tail=lanes) > mul"});
}

}  // namespace
}  // namespace samebits::explain
