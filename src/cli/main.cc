// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/verb.h"
#include "samebits/error.h"

namespace samebits::cli {

static std::vector<const Verb*>& registry() {
  static std::vector<const Verb*> list;
  return list;
}

Verb::Verb(std::string n, std::string h, Setup s) : name(std::move(n)), help(std::move(h)), setup(s) {
  registry().push_back(this);
}

const std::vector<const Verb*>& verbs() {
  std::sort(registry().begin(), registry().end(), [](const Verb* x, const Verb* y) { return x->name < y->name; });
  return registry();
}

Globals& globals() {
  static Globals g;
  return g;
}

}  // namespace samebits::cli

int main(int argc, char** argv) {
  using namespace samebits;
  CLI::App app{"samebits: choose the accumulation order of a matrix product, and prove why two products differ", "samebits"};
  app.set_version_flag("--version", SAMEBITS_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  auto& globals = cli::globals();
  app.add_flag("-q,--quiet", globals.quiet, "print nothing but what was asked for");
  std::vector<std::pair<CLI::App*, std::function<int()>>> actions;
  for (const auto* verb : cli::verbs()) {
    auto* sub = app.add_subcommand(verb->name, verb->help);
    actions.emplace_back(sub, verb->setup(*sub));
  }
  const auto named = [&](const cli::Verb* verb) { return verb->name == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::none_of(cli::verbs().begin(), cli::verbs().end(), named)) {
    fmt::print(stderr, "samebits: there is no verb \"{}\"; `samebits --help` lists them\n", argv[1]);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  globals.color = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  globals.progress = isatty(STDERR_FILENO) && !globals.quiet;
  try {
    for (auto& [sub, action] : actions)
      if (sub->parsed()) return action();
  } catch (const std::exception& e) {
    fmt::print(stderr, "samebits: {}\n", e.what());
    return 2;
  }
  return 2;
}
