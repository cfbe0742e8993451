// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "samebits/gemm.h"

namespace samebits::cli {
namespace {

const Verb verb("kernels", "list the kernels: which are built in, which this CPU runs", [](CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON");
  return std::function<int()>([json] {
    if (*json) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (const auto& k : kernels())
        list.push_back({{"name", k.name}, {"isa", k.isa}, {"built", k.built}, {"supported", k.supported}});
      fmt::print("{}\n", list.dump(2));
      return 0;
    }
    fmt::print("{:<32} {:<10} {:<6} {}\n", "kernel", "isa", "built", "supported here");
    for (const auto& k : kernels())
      fmt::print("{:<32} {:<10} {:<6} {}\n", k.name, k.isa, k.built ? "yes" : "no", k.supported ? "yes" : "no");
    return 0;
  });
});

}  // namespace
}  // namespace samebits::cli
