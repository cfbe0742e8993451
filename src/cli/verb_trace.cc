// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/product.h"
#include "cli/verb.h"
#include "report/report.h"

namespace samebits::cli {
namespace {

const Verb verb("trace", "follow one element through two orders: 0 equal, 1 different, 2 error", [](CLI::App& app) {
  auto options = std::make_shared<ProductOptions>();
  add_product(app, *options);
  return std::function<int()>([options]() -> int {
    if (options->element.empty()) options->element = {-1, -1};  // the first that differs
    const auto report = explain_product(*options);
    if (!report.trace) {
      for (const auto& side : report.sides)
        if (side.reproduced < report.elements)
          throw Error(Code::unsupported, fmt::format("no order reproduces {}", side.name));
      throw Error(Code::unsupported, "nothing to trace");
    }
    const auto& t = *report.trace;
    if (options->json)
      fmt::print("{}", report::json(t));
    else if (!globals().quiet)
      fmt::print("element ({}, {})\n{}", t.row, t.col, t.text);
    return t.left == t.right ? 0 : 1;
  });
});

}  // namespace
}  // namespace samebits::cli
