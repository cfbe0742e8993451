// SPDX-License-Identifier: Apache-2.0
// Libraries that are present, probed at random shapes and compared with what a profile predicts.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "backends/program.h"
#include "explain/predict.h"
#include "profiles/profile.h"
#include "samebits/backend.h"
#include "samebits/error.h"

namespace samebits {

// Says what is there, or why it is not.
inline bool available(const std::string& backend) {
  try {
    std::cout << backend << ": " << open_backend(backend)->description() << "\n";
    return true;
  } catch (const Error& e) {
    std::cout << backend << " is absent: " << e.what() << "\n";
    return false;
  }
}

// `probe --json` in a child process; the exit status must be 0.
inline nlohmann::json probe_json(const std::string& environment, const std::string& arguments) {
  const auto out = run_program(environment, "probe --json " + arguments);
  EXPECT_EQ(out.status, 0) << environment << " probe " << arguments << "\n" << out.text;
  return nlohmann::json::parse(out.text, nullptr, false);
}

inline bool predicts(const nlohmann::json& result, const std::string& profile) {
  for (const auto& name : result["profiles"])
    if (name.get<std::string>().rfind(profile, 0) == 0) return true;
  return false;
}

struct Live {
  std::string environment = "A=b";
  std::string backend;
  std::string profile;       // empty: none speaks for it
  profiles::Keys keys = {};  // keys with one value; all listed values of the others are tried
  bool f64 = true;
  std::vector<int> threads = {1};
  bool constant_b = false;
};

// What the profile says about the call: the orders of all its key values, each of which may be the one at hand.
inline std::vector<Order> predictions(const Live& live, const ProbeCall& call) {
  const auto* profile = profiles::find(live.profile);
  if (profile == nullptr) return {};
  std::vector<profiles::Keys> choices{{}};
  for (const auto& key : profile->keys) {
    const auto fixed = live.keys.find(key.name);
    const auto values = fixed == live.keys.end() ? key.values : std::vector<std::string>{fixed->second};
    std::vector<profiles::Keys> more;
    for (const auto& choice : choices)
      for (const auto& value : values) {
        more.push_back(choice);
        more.back()[key.name] = key.name == "threads" ? std::to_string(call.threads) : value;
      }
    choices = std::move(more);
  }
  std::vector<Order> out;
  for (const auto& choice : choices)
    if (auto order = profile->order(explain::profile_call(call), choice)) out.push_back(std::move(*order));
  return out;
}

// Every element is reproduced at every shape, and no rule of the profile is refuted; calls without a rule are counted and
// shown.
inline void expect_as_predicted(const Live& live, int shapes, unsigned seed = 11) {
  std::mt19937 engine(seed);
  const auto pick = [&](int most) { return 1 + static_cast<Index>(engine() % static_cast<unsigned>(most)); };
  int predicted = 0, all = 0;
  std::string without;
  for (int n = 0; n < shapes; ++n) {
    const bool large = n % 3 == 0;
    ProbeCall call;
    call.m = pick(large ? 90 : 16), call.n = pick(large ? 90 : 20), call.k = pick(large ? 700 : 60);
    if (n % 8 == 5) (n % 16 == 5 ? call.m : call.n) = 1;
    call.trans_b = n % 2 == 1, call.trans_a = n % 7 == 3;
    call.dtype = live.f64 && n % 3 == 1 ? DType::f64 : DType::f32;
    call.constant_b = live.constant_b;
    call.threads = live.threads[static_cast<std::size_t>(n / 2) % live.threads.size()];
    const auto words = std::string("-m ") + std::to_string(call.m) + " -n " + std::to_string(call.n) + " -k " +
                       std::to_string(call.k) + (call.trans_a ? " --ta" : "") + (call.trans_b ? " --tb" : "") +
                       (call.dtype == DType::f64 ? " --dtype f64" : "") + " --threads " + std::to_string(call.threads) +
                       (live.constant_b ? " --constant-b" : "");
    const auto r = probe_json(live.environment, "--no-epilogue '" + live.backend + "' " + words);
    if (!r.is_object()) continue;
    EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << words << "\n" << r.dump(1);
    ++all;
    const auto order = Order::parse(r["order"].get<std::string>());
    const auto said = predictions(live, call);
    if (said.empty()) {
      without += "\n  no rule for " + words;
      continue;
    }
    const bool right =
        std::any_of(said.begin(), said.end(), [&](const Order& o) { return explain::same_trees(o, order, call); });
    EXPECT_TRUE(right) << live.environment << " " << live.backend << " " << words << "\n  " << live.profile << " predicts "
                       << said[0].text() << "\n  the library does " << order.text();
    predicted += right;
  }
  std::cout << live.environment << " " << live.backend << ": " << all << " products reproduced; "
            << (live.profile.empty() ? "no profile speaks for it"
                                     : "profile " + live.profile + " predicts " + std::to_string(predicted))
            << without << "\n";
  if (!live.profile.empty()) {
    EXPECT_GT(predicted, all / 3);
  }
}

}  // namespace samebits
