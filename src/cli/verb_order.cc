// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/verb.h"
#include "order/cost.h"
#include "profiles/profile.h"
#include "samebits/order.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string text;
  Index k = -1, rows = 1, cols = 1, row = 0, col = 0;
  std::string dtype = "f32";
  bool dot = false, tree = false, json = false;
};

std::string cost_text(const Tree& tree) {
  const auto cost = order::cost(tree);
  if (!cost.program) return fmt::format("{}: the reference evaluator, element by element, slow", cost.why);
  auto text = fmt::format("{} run{} of {:.1f} leaves, stack of {}", cost.runs, cost.runs == 1 ? "" : "s", cost.average_run, cost.depth);
  if (cost.relative_time > 0) text += fmt::format("; about {:.2f} x the time of fma (estimate)", cost.relative_time);
  return text;
}

Order resolve(const Order& order, const Options& options) {
  if (!order.is_profile()) return order;
  profiles::Call call;
  call.dtype = options.dtype == "f64" ? DType::f64 : DType::f32;
  call.m = options.rows, call.n = options.cols, call.k = options.k;
  if (const auto resolved = profiles::resolve(order, call)) return *resolved;
  throw Error(Code::unsupported, fmt::format("the profile {} does not know this call", order.text()));
}

int run(const Options& options) {
  Order order = Order::parse(options.text);
  // Any name may be a profile's; whether one has it is known here.
  if (order.is_profile() && !profiles::find(order.profile_name()))
    throw Error(Code::syntax, fmt::format("\"{}\" is neither a stage nor a profile; `samebits orders` lists both", order.profile_name()));
  if (options.k < 0) {
    if (options.dot || options.tree) throw Error(Code::invalid_argument, "--dot and --tree need -k");
    if (options.json) {
      fmt::print("{}\n", nlohmann::ordered_json{{"order", order.text()}, {"description", order.describe()}}.dump(2));
    } else {
      fmt::print("order        {}\ndescription  {}\n", order.text(), order.describe());
    }
    return 0;
  }
  const std::string written = order.is_profile() ? order.text() : "";
  order = resolve(order, options);
  order.check_shape(options.rows, options.cols);
  const Order element = order.at(options.row, options.col);
  const Tree tree = element.tree(static_cast<std::size_t>(options.k));
  if (options.dot) {
    fmt::print("{}", tree.dot());
  } else if (options.tree) {
    fmt::print("{}\n", tree.text());
  } else if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"order", order.text()},
                                              {"description", order.describe()},
                                              {"k", options.k},
                                              {"tree", tree.text()},
                                              {"cost", cost_text(tree)}}
                           .dump(2));
  } else {
    if (!written.empty()) fmt::print("profile      {}\n", written);
    fmt::print("order        {}\ndescription  {}\n", order.text(), order.describe());
    if (order.has_regions()) fmt::print("element      [{}, {}]: {}\n", options.row, options.col, element.text());
    fmt::print("K = {:<8} {}\ncost         {}\n", options.k, tree.text(), cost_text(tree));
  }
  return 0;
}

const Verb verb("order", "show an order: what it says, its tree at a K, its cost", [](CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("ORDER", options->text, "e.g. \"chunks(256) > fma\", or a profile")->required();
  app.add_option("-k,--k", options->k, "expand at this K")->check(CLI::Range(Index{0}, Index{1} << 24));
  app.add_option("-m,--rows", options->rows, "rows of C, for regions and profiles")->check(at_least(1));
  app.add_option("-n,--cols", options->cols, "columns of C, for regions and profiles")->check(at_least(1));
  app.add_option("--row", options->row, "row of the element shown")->check(at_least(0));
  app.add_option("--col", options->col, "column of the element shown")->check(at_least(0));
  app.add_option("--dtype", options->dtype, "f32 or f64, for profiles")->check(CLI::IsMember({"f32", "f64"}));
  app.add_flag("--dot", options->dot, "print the tree as Graphviz source only");
  app.add_flag("--tree", options->tree, "print the tree as text only");
  app.add_flag("--json", options->json, "print JSON");
  return std::function<int()>([options] { return run(*options); });
});

}  // namespace
}  // namespace samebits::cli
