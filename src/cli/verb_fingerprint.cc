// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "explain/fingerprint.h"
#include "samebits/error.h"

namespace samebits::cli {
namespace {

using explain::Fingerprint;

nlohmann::ordered_json to_json(const Fingerprint& f) {
  nlohmann::ordered_json out{{"samebits_fingerprint", 1}, {"backend", f.backend}, {"description", f.description}};
  out["calls"] = nlohmann::ordered_json::array();
  for (const auto& e : f.entries)
    out["calls"].push_back({{"call", explain::text(e.call)}, {"status", e.status}, {"order", e.order}, {"bits", fmt::format("{:016x}", e.bits)}});
  return out;
}

// Files are untrusted: every fault is an Error(io) that names the file.
Fingerprint read(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(Code::io, "cannot read " + path);
  try {
    const auto json = nlohmann::json::parse(in);
    if (json.at("samebits_fingerprint").get<int>() != 1) throw Error(Code::io, path + ": a fingerprint of another version");
    Fingerprint f{json.at("backend").get<std::string>(), json.at("description").get<std::string>(), {}};
    for (const auto& c : json.at("calls"))
      f.entries.push_back({explain::parse_call(c.at("call").get<std::string>()), c.at("status").get<std::string>(),
                           c.at("order").get<std::string>(), std::stoull(c.at("bits").get<std::string>(), nullptr, 16)});
    return f;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(Code::io, fmt::format("{} is not a fingerprint: {}", path, e.what()));
  }
}

std::vector<ProbeCall> read_calls(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(Code::io, "cannot read " + path);
  std::vector<ProbeCall> calls;
  for (std::string line; std::getline(in, line);) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") != std::string::npos) calls.push_back(explain::parse_call(line));
  }
  if (calls.empty()) throw Error(Code::io, path + " lists no call");
  return calls;
}

int report(const std::vector<std::string>& changes) {
  for (const auto& line : changes) fmt::print("{}\n", line);
  if (changes.empty()) fmt::print("no order changed\n");
  return changes.empty() ? 0 : 1;
}

struct Options {
  std::string backend, shapes, check;
  std::vector<std::string> diff;
};

int run(const Options& o) {
  if (!o.diff.empty()) return report(explain::differences(read(o.diff[0]), read(o.diff[1])));
  std::vector<ProbeCall> calls = o.shapes.empty() ? explain::default_calls() : read_calls(o.shapes);
  std::optional<Fingerprint> before;
  if (!o.check.empty()) {
    before = read(o.check);
    calls.clear();
    for (const auto& e : before->entries) calls.push_back(e.call);
  }
  const auto name = !o.backend.empty() ? o.backend : before ? before->backend : "";
  if (name.empty()) throw Error(Code::invalid_argument, "fingerprint: a backend is missing; see `samebits backends`");
  const auto backend = open_backend(name);
  std::function<void(const std::string&)> progress;
  if (globals().progress) progress = [](const std::string& call) { fmt::print(stderr, "\r\x1b[K{}", call), std::fflush(stderr); };
  const auto now = explain::fingerprint(*backend, calls, progress);
  if (globals().progress) fmt::print(stderr, "\r\x1b[K");
  if (before) return report(explain::differences(*before, now));
  fmt::print("{}\n", to_json(now).dump(2));
  return 0;
}

const Verb fingerprint_verb{"fingerprint", "write down a backend's orders; later tell whether they changed",
                            [](CLI::App& app) -> std::function<int()> {
                              auto o = std::make_shared<Options>();
                              app.add_option("backend", o->backend, "see `samebits backends` (--check: the one in the file)");
                              app.add_option("--shapes", o->shapes, "file of calls, one a line: \"f32 64 x 64 x 500, tb, threads=2\"");
                              app.add_option("--check", o->check, "compare with this fingerprint");
                              app.add_option("--diff", o->diff, "compare two fingerprints, A B")->expected(2);
                              app.footer("Exit status: 0, or 1 when an order changed; 2 an error.");
                              return [o] { return run(*o); };
                            }};

}  // namespace
}  // namespace samebits::cli
