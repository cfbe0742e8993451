// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "samebits/backend.h"

namespace samebits::cli {
namespace {

const Verb backends_verb{"backends", "list what can multiply matrices here", [](CLI::App& app) -> std::function<int()> {
                           auto json = std::make_shared<bool>(false);
                           app.add_flag("--json", *json, "as JSON");
                           return [json] {
                             const auto list = backends();
                             if (*json) {
                               auto out = nlohmann::ordered_json::array();
                               for (const auto& b : list)
                                 out.push_back({{"name", b.name}, {"available", b.available}, {"detail", b.detail}});
                               fmt::print("{}\n", out.dump(2));
                               return 0;
                             }
                             std::size_t width = 0;
                             for (const auto& b : list) width = std::max(width, b.name.size());
                             for (const auto& b : list) fmt::print("{:{}}  {}\n", b.name, width, b.detail);
                             return 0;
                           };
                         }};

}  // namespace
}  // namespace samebits::cli
