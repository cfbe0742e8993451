// SPDX-License-Identifier: Apache-2.0
// The determinism suite as GoogleTests of your own gemm, one a clause. In CMake, after find_package(samebits):
//   samebits_add_determinism_suite(my_gemm_suite SOURCES my_gemm_suite.cc LIBRARIES my_library)
// The source is examples/my_gemm_suite.cc with another call.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "samebits/check.h"

namespace samebits::testing {

class ClauseTest : public ::testing::Test {
 public:
  ClauseTest(std::function<std::unique_ptr<Backend>()> make, CheckOptions options)
      : make_(std::move(make)), options_(std::move(options)) {}
  void TestBody() override {
    const auto backend = make_();
    const auto result = check(*backend, options_).results.at(0);
    if (result.verdict == ClauseResult::Verdict::not_applicable) GTEST_SKIP() << "not applicable: " << result.detail;
    EXPECT_EQ(result.verdict, ClauseResult::Verdict::holds)
        << result.text << "\n" << result.detail << (result.left.empty() ? "" : "\n  " + result.left + "\n  " + result.right);
  }

 private:
  std::function<std::unique_ptr<Backend>()> make_;
  CheckOptions options_;
};

// Registers a test for each clause that the options ask for. Call it before RUN_ALL_TESTS.
inline void add_suite(const std::string& name, std::function<std::unique_ptr<Backend>()> make, const CheckOptions& options = {}) {
  for (const auto& clause : clauses()) {
    bool wanted = options.only.empty();
    for (const auto& id : options.only) wanted |= id == clause.id;
    for (const auto& id : options.except) wanted &= id != clause.id;
    if (!wanted) continue;
    auto mine = options;
    mine.only = {clause.id};
    mine.except.clear();
    ::testing::RegisterTest(name.c_str(), clause.id.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [make, mine]() -> ::testing::Test* { return new ClauseTest(make, mine); });
  }
}

}  // namespace samebits::testing
