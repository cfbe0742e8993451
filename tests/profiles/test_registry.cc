// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "profiles/profile.h"

namespace samebits {
namespace {

profiles::Call call(DType dtype, Index m, Index n, Index k, bool trans_b) {
  profiles::Call c;
  c.dtype = dtype;
  c.m = m;
  c.n = n;
  c.k = k;
  c.trans_b = trans_b;
  return c;
}

void expect_syntax_error(const char* text, std::initializer_list<const char*> said) {
  try {
    (void)profiles::resolve(Order::parse(text), call(DType::f32, 6, 7, 5, true));
    FAIL() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::syntax) << text;
    for (const char* part : said) EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Registry, WrongNamesKeysAndValuesAreSyntaxErrorsThatSayWhatIsExpected) {
  expect_syntax_error("openblass(core=haswell)", {"openblass", "openblas", "onnxruntime-cpu"});
  expect_syntax_error("openblas(cores=haswell)", {"cores", "core", "threads", "call"});
  expect_syntax_error("tensorflow-cpu(threads=2)", {"no keys"});
  expect_syntax_error("openblas(core=pentium)", {"core=pentium", "haswell", "skylakex", "cooperlake"});
  expect_syntax_error("onnxruntime-cpu(threads=0)", {"threads=0", "1"});
  expect_syntax_error("mkl(offset=four)", {"offset=four"});
}

TEST(Registry, NamesAreDifferentAndEachProfileSaysWhatWasVerified) {
  std::set<std::string> names;
  for (const auto& profile : profiles::all()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_EQ(profiles::find(profile.name), &profile);
    EXPECT_FALSE(profile.summary.empty());
    EXPECT_FALSE(profile.verified.empty()) << profile.name;
    for (const auto& key : profile.keys) {
      EXPECT_FALSE(key.values.empty());
      EXPECT_FALSE(key.help.empty());
    }
  }
  for (const char* name : {"onnxruntime-cuda", "pytorch-cuda", "cublas"})
    EXPECT_NE(profiles::find(name)->verified[0].find("prediction"), std::string::npos) << name;
}

TEST(Registry, MklHasNoRuleWhereThreadsTakeOtherKernels) {
  auto c = call(DType::f32, 6, 64, 100, true);
  EXPECT_TRUE(profiles::resolve(Order::parse("mkl(dispatch=amd)"), c));
  EXPECT_TRUE(profiles::resolve(Order::parse("pytorch-cpu()"), c));
  c.threads = 2;
  EXPECT_FALSE(profiles::resolve(Order::parse("mkl(dispatch=amd)"), c));
  EXPECT_FALSE(profiles::resolve(Order::parse("pytorch-cpu()"), c));
}

TEST(Registry, WhatIsNotGivenComesFromTheCall) {
  auto c = call(DType::f32, 6, 300, 600, false);
  const Order profile = Order::parse("onnxruntime-cpu()");
  EXPECT_EQ(profiles::resolve(profile, c)->text(), "chunks(256) > fma");
  c.constant_b = false;
  EXPECT_EQ(profiles::resolve(profile, c)->text(), "chunks(128) > fma");
  EXPECT_EQ(profiles::resolve(Order::parse("onnxruntime-cpu(b=const)"), c)->text(), "chunks(256) > fma");
}

// All keys of all profiles, on shapes that meet edges: the order fits the shape, prints and parses, and each tree has every
// leaf once.
TEST(Registry, EveryOrderFitsItsShape) {
  int orders = 0;
  for (const auto& profile : profiles::all()) {
    profiles::Keys keys;
    const std::function<void(std::size_t, const profiles::Call&)> each = [&](std::size_t at, const profiles::Call& c) {
      if (at < profile.keys.size()) {
        for (const auto& value : profile.keys[at].values) {
          keys[profile.keys[at].name] = value;
          each(at + 1, c);
        }
        return;
      }
      const auto order = profile.order(c, keys);
      if (!order) return;
      ++orders;
      ASSERT_NO_THROW(order->check_shape(c.m, c.n)) << profile.name << order->text();
      ASSERT_EQ(Order::parse(order->text()).text(), order->text()) << profile.name;
      for (const auto& [i, j] : {std::pair<Index, Index>{0, 0}, {c.m - 1, c.n - 1}, {0, c.n - 1}, {c.m - 1, 0}})
        ASSERT_EQ(order->at(i, j).tree(static_cast<std::size_t>(c.k)).ks.size(), static_cast<std::size_t>(c.k))
            << profile.name << order->text();
    };
    for (const DType dtype : {DType::f32, DType::f64})
      for (const bool trans_b : {false, true})
        for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {1, 9, 37}, {9, 1, 2}, {3, 7, 5}, {13, 18, 258}, {7, 29, 67}})
          each(0, call(dtype, m, n, k, trans_b));
  }
  EXPECT_GT(orders, 1000);
}

}  // namespace
}  // namespace samebits
