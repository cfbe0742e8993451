// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "profiles/profile.h"
#include "samebits/gemm.h"
#include "samebits/order.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string text;
  Index k = -1, rows = 1, cols = 1, row = 0, col = 0;
  std::string dtype = "f32";
  bool dot = false, tree = false, json = false;
};

// How a product in this order runs, and for how long compared with one in `fma`. An estimate: a step of k costs a 12 x 32 tile
// about 12 cycles and the end of a run about 33 (measured: 27 to 40).
std::string cost(const Tree& tree) {
  constexpr double step = 12, run_end = 33;
  for (const auto& node : tree.nodes)
    for (const auto& item : node.items) {
      if (item.is_node()) continue;
      if (item.op == Op::mma) return "tensor-core blocks: about 5 x fma where a kernel has them";
      if (item.op == Op::exact) return "correctly rounded: about 2 x fma where a kernel has it";
    }
  if (!is_program(tree)) return "mixes precisions inside: runs on the reference evaluator";
  const Program program = compile(tree);
  const double ratio = tree.k == 0 ? 1 : 1 + run_end * (static_cast<double>(program.runs.size()) - 1) / (step * tree.k);
  std::string text = fmt::format("{} run{}, stack of {}; about {:.2f} x fma", program.runs.size(),
                                 program.runs.size() == 1 ? "" : "s", program.depth, ratio);
  if (tree.main_op() == Op::mul) text += ", up to 2 x that where the core has no separate adders";
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
  if (options.k < 0) {
    if (options.dot || options.tree) throw Error(Code::invalid_argument, "--dot and --tree need -k");
    if (options.json) {
      fmt::print("{}\n", nlohmann::ordered_json{{"order", order.text()}, {"description", order.describe()}}.dump(2));
    } else {
      fmt::print("order        {}\ndescription  {}\n", order.text(), order.describe());
    }
    return 0;
  }
  const bool was_profile = order.is_profile();
  const std::string written = order.text();
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
                                              {"cost", cost(tree)}}
                           .dump(2));
  } else {
    if (was_profile) fmt::print("profile      {}\n", written);
    fmt::print("order        {}\ndescription  {}\n", order.text(), order.describe());
    if (order.has_regions()) fmt::print("element      [{}, {}]: {}\n", options.row, options.col, element.text());
    fmt::print("K = {:<8} {}\ncost         {}\n", options.k, tree.text(), cost(tree));
  }
  return 0;
}

const Verb verb("order", "show an order: what it says, its tree at a K, its cost", [](CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("ORDER", options->text, "e.g. \"chunks(256) > fma\", or a profile")->required();
  app.add_option("-k,--k", options->k, "expand at this K")->check(CLI::Range(Index{0}, Index{1} << 24));
  app.add_option("-m,--rows", options->rows, "rows of C, for regions and profiles")->check(CLI::PositiveNumber);
  app.add_option("-n,--cols", options->cols, "columns of C, for regions and profiles")->check(CLI::PositiveNumber);
  app.add_option("--row", options->row, "row of the element shown")->check(CLI::NonNegativeNumber);
  app.add_option("--col", options->col, "column of the element shown")->check(CLI::NonNegativeNumber);
  app.add_option("--dtype", options->dtype, "f32 or f64, for profiles")->check(CLI::IsMember({"f32", "f64"}));
  app.add_flag("--dot", options->dot, "print the tree as Graphviz source only");
  app.add_flag("--tree", options->tree, "print the tree as text only");
  app.add_flag("--json", options->json, "print JSON");
  return std::function<int()>([options] { return run(*options); });
});

}  // namespace
}  // namespace samebits::cli
