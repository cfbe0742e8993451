// SPDX-License-Identifier: Apache-2.0
// A verb of the program. One file a verb: it defines one global Verb, whose constructor registers it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace samebits::cli {

struct Verb {
  // `setup` adds options to the subcommand and returns the action; the action returns the exit status.
  using Setup = std::function<int()> (*)(CLI::App& app);
  Verb(std::string name, std::string help, Setup setup);

  std::string name, help;
  Setup setup;
};

// Sorted by name.
const std::vector<const Verb*>& verbs();

// Options common to all verbs, given before or after the verb.
struct Globals {
  bool quiet = false;
  bool color = false;     // stdout is a terminal, NO_COLOR is unset
  bool progress = false;  // stderr is a terminal, not quiet
};
Globals& globals();

}  // namespace samebits::cli
