// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/probe_options.h"
#include "cli/verb.h"
#include "samebits/probe.h"

namespace samebits::cli {
namespace {

nlohmann::ordered_json to_json(const ProbeResult& r) {
  static constexpr const char* status[] = {"reproduced", "partly reproduced", "not reproduced", "not deterministic"};
  const auto& p = r.call;
  nlohmann::ordered_json out{
      {"backend", r.backend},
      {"call",
       {{"dtype", p.dtype == DType::f32 ? "f32" : "f64"}, {"m", p.m}, {"n", p.n}, {"k", p.k}, {"trans_a", p.trans_a},
        {"trans_b", p.trans_b}, {"threads", p.threads}, {"constant_b", p.constant_b}}},
      {"status", status[static_cast<int>(r.status)]},
      {"elements", r.elements},
      {"reproduced", r.reproduced},
      {"calls", r.calls}};
  if (!r.regions.empty()) out["order"] = r.order.text();
  out["regions"] = nlohmann::ordered_json::array();
  for (const auto& region : r.regions)
    out["regions"].push_back({{"order", region.order.text()}, {"tree", region.tree}, {"elements", region.elements},
                              {"first", {region.row, region.col}}});
  out["epilogue"] = r.epilogue;
  out["flushes_subnormals"] = r.flushes_subnormal_inputs || r.flushes_subnormal_results;
  out["profiles"] = r.profiles;
  out["notes"] = r.notes;
  return out;
}

struct Options {
  std::string backend, dot;
  bool json = false, tree = false, no_epilogue = false;
  std::shared_ptr<CallOptions> call;
};

int run(const Options& o) {
  const auto backend = open_backend(o.backend);
  ProbeOptions options;
  options.epilogue = !o.no_epilogue;
  std::string stage;
  if (globals().progress)
    options.progress = [&](const std::string& now, Index calls) {
      fmt::print(stderr, "\r\x1b[K{}: {} calls", now, calls);
      std::fflush(stderr);
    };
  const auto result = probe(*backend, o.call->finished(), options);
  if (globals().progress) fmt::print(stderr, "\r\x1b[K");
  if (o.json) {
    fmt::print("{}\n", to_json(result).dump(2));
  } else {
    fmt::print("{}", result.text());
    if (o.tree)
      for (const auto& region : result.regions) fmt::print("tree of element ({}, {}): {}\n", region.row, region.col, region.tree);
  }
  if (!o.dot.empty() && !result.regions.empty()) {
    const auto tree = result.regions.front().order.tree(static_cast<std::size_t>(result.call.k));
    std::FILE* file = std::fopen(o.dot.c_str(), "w");
    if (file == nullptr) throw Error(Code::io, "cannot write " + o.dot);
    fmt::print(file, "{}", tree.dot());
    std::fclose(file);
  }
  return result.ok() ? 0 : 1;
}

const Verb probe_verb{"probe", "find the accumulation order of a backend for one call, and prove it",
                      [](CLI::App& app) -> std::function<int()> {
                        auto o = std::make_shared<Options>();
                        app.add_option("backend", o->backend, "see `samebits backends`")->required();
                        o->call = CallOptions::add(app);
                        app.add_flag("--json", o->json, "as JSON");
                        app.add_flag("--tree", o->tree, "print each region's tree");
                        app.add_option("--dot", o->dot, "write the drawing of the first region's tree (Graphviz)");
                        app.add_flag("--no-epilogue", o->no_epilogue, "do not ask where alpha and beta enter");
                        app.footer("Exit status: 0 every element reproduced, 1 not, 2 an error.");
                        return [o] { return run(*o); };
                      }};

}  // namespace
}  // namespace samebits::cli
