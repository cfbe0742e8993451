// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "profiles/profile.h"
#include "samebits/order.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string profile;
  bool json = false;
};

void print_profile(const profiles::Profile& p) {
  fmt::print("{}: {}\n", p.name, p.summary);
  for (const auto& key : p.keys) {
    std::string values;
    for (const auto& value : key.values) values += (values.empty() ? "" : "|") + value;
    fmt::print("  {}={}\n      {}\n", key.name, values, key.help);
  }
  for (const auto& line : p.verified) fmt::print("  verified: {}\n", line);
}

int print_json() {
  nlohmann::ordered_json json = {{"schema", "samebits.orders/1"}};
  for (const auto& stage : stage_help())
    json["stages"].push_back({{"name", stage.name}, {"usage", stage.usage}, {"help", stage.help}});
  for (const auto& p : profiles::all()) {
    nlohmann::ordered_json keys = nlohmann::ordered_json::array();
    for (const auto& key : p.keys) keys.push_back({{"name", key.name}, {"values", key.values}, {"help", key.help}});
    json["profiles"].push_back({{"name", p.name}, {"summary", p.summary}, {"keys", keys}, {"verified", p.verified}});
  }
  fmt::print("{}\n", json.dump(2));
  return 0;
}

int run(const Options& options) {
  if (options.json) return print_json();
  if (!options.profile.empty()) {
    const auto* p = profiles::find(options.profile);
    if (!p) throw Error(Code::invalid_argument, fmt::format("no profile named \"{}\"; `samebits orders` lists them", options.profile));
    print_profile(*p);
    return 0;
  }
  fmt::print("An order is a pipeline of stages, outermost first, e.g. \"chunks(256) > fma\".\n\nStages\n");
  for (const auto& stage : stage_help()) fmt::print("  {}\n      {}\n", stage.usage, stage.help);
  fmt::print("\nProfiles: the order of a named system for one call; `samebits orders NAME` shows keys and evidence\n");
  for (const auto& p : profiles::all()) fmt::print("  {:<20} {}\n", p.name, p.summary);
  return 0;
}

const Verb verb("orders", "list the stages of the order language and the profiles", [](CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("PROFILE", options->profile, "show this profile: its keys and where it was verified");
  app.add_flag("--json", options->json, "print JSON");
  return std::function<int()>([options] { return run(*options); });
});

}  // namespace
}  // namespace samebits::cli
