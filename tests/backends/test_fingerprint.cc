// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "explain/fingerprint.h"

namespace samebits::explain {
namespace {

TEST(Fingerprint, CallsReadBack) {
  for (const auto& call : default_calls()) EXPECT_EQ(text(parse_call(text(call))), text(call));
  EXPECT_EQ(text(parse_call("f64 3 x 4 x 5, tb, ta, threads=2, a-offset=8")), "f64 3 x 4 x 5, ta, tb, threads=2, a-offset=8");
  for (const char* bad : {"", "f32", "f16 1 x 1 x 1", "f32 1 x 1", "f32 0 x 1 x 1", "f32 1 x 1 x 1, tc", "f32 1 x 1 x 1, threads=", "f32 1 x 1 x 1 z"})
    EXPECT_THROW(parse_call(bad), Error) << bad;
}

TEST(Fingerprint, TellsWhatChanged) {
  const std::vector<ProbeCall> calls{parse_call("f32 4 x 4 x 70"), parse_call("f64 3 x 3 x 20")};
  const auto before = fingerprint(*open_backend("samebits(order=chunks(32) > fma)"), calls);
  EXPECT_EQ(before.entries.size(), 2u);
  EXPECT_TRUE(differences(before, before).empty());
  // At k = 20 the two are one order; at 70 they are not.
  const auto after = fingerprint(*open_backend("samebits(order=chunks(48) > fma)"), calls);
  const auto changes = differences(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_NE(changes[0].find("f32 4 x 4 x 70: the order changed"), std::string::npos) << changes[0];
  EXPECT_NE(changes[0].find("chunks(32) > fma"), std::string::npos);
  // The same order in other words is none.
  auto renamed = before;
  renamed.entries[1].order = "tree([0..19]) > fma";
  EXPECT_TRUE(differences(before, renamed).empty());
  // The same order with other bits is one.
  renamed.entries[1].bits ^= 1;
  EXPECT_EQ(differences(before, renamed).size(), 1u);
  renamed.entries.pop_back();
  ASSERT_EQ(differences(before, renamed).size(), 1u);
  EXPECT_NE(differences(before, renamed)[0].find("only in the first"), std::string::npos);
}

}  // namespace
}  // namespace samebits::explain
