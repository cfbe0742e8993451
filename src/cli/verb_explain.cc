// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/options.h"
#include "cli/product.h"
#include "cli/verb.h"
#include "report/report.h"

namespace samebits::cli {
namespace {

// 0 equal; 4 a side is outside the bound; 1 both sides identified; 3 neither (2: bad usage or input).
int status(explain::Verdict verdict) {
  switch (verdict) {
    case explain::Verdict::equal:
      return 0;
    case explain::Verdict::explained:
      return 1;
    case explain::Verdict::outside_bound:
      return 4;
    default:
      return 3;
  }
}

const Verb verb("explain",
                "say why two results of one product differ: 0 equal, 1 both orders identified, 3 not, 4 outside the bound",
                [](CLI::App& app) {
                  auto options = std::make_shared<ProductOptions>();
                  add_product(app, *options);
                  auto gpu = std::make_shared<GpuCheckOption>(app);
                  return std::function<int()>([options, gpu] {
                    auto report = explain_product(*options);
                    if (const auto check = gpu->read())
                      for (auto& side : report.sides)
                        if (auto note = report::gpu_note(*check, report, side); !note.empty()) side.notes.push_back(note);
                    if (options->json)
                      fmt::print("{}", report::json(report));
                    else if (!globals().quiet)
                      fmt::print("{}", report::text(report, globals().color));
                    return status(report.verdict);
                  });
                });

}  // namespace
}  // namespace samebits::cli
