// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "samebits/check.h"
#include "samebits/error.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string backend, junit;
  std::vector<std::string> dtypes{"f32", "f64"};
  bool json = false, list = false;
  CheckOptions check;
};

nlohmann::ordered_json to_json(const CheckReport& report) {
  static constexpr const char* words[] = {"holds", "fails", "not applicable"};
  nlohmann::ordered_json out{{"backend", report.backend}, {"description", report.description}, {"ok", report.ok()}};
  out["clauses"] = nlohmann::ordered_json::array();
  for (const auto& r : report.results) {
    nlohmann::ordered_json item{{"id", r.id}, {"text", r.text}, {"verdict", words[static_cast<int>(r.verdict)]}, {"detail", r.detail}};
    if (!r.left.empty()) item["orders"] = {r.left, r.right};
    item["seconds"] = r.seconds;
    out["clauses"].push_back(std::move(item));
  }
  return out;
}

int run(Options& o) {
  if (o.list) {
    for (const auto& c : clauses()) fmt::print("{:18} {}\n", c.id, c.text);
    return 0;
  }
  if (o.backend.empty()) throw Error(Code::invalid_argument, "check: a backend is missing; see `samebits backends`");
  o.check.dtypes.clear();
  for (const auto& d : o.dtypes) o.check.dtypes.push_back(d == "f64" ? DType::f64 : DType::f32);
  if (o.backend.rfind("command", 0) == 0 && o.backend.find("loop=yes") == std::string::npos) o.check.quick = true;  // a start a call
  const auto backend = open_backend(o.backend);
  if (globals().progress)
    o.check.progress = [](const std::string& clause) { fmt::print(stderr, "\r\x1b[K{}", clause), std::fflush(stderr); };
  const auto report = check(*backend, o.check);
  if (globals().progress) fmt::print(stderr, "\r\x1b[K");
  if (!o.junit.empty()) {
    std::FILE* file = std::fopen(o.junit.c_str(), "w");
    if (file == nullptr) throw Error(Code::io, "cannot write " + o.junit);
    fmt::print(file, "{}", report.junit());
    std::fclose(file);
  }
  if (o.json)
    fmt::print("{}\n", to_json(report).dump(2));
  else
    fmt::print("{}", report.text());
  return report.ok() ? 0 : 1;
}

const Verb check_verb{"check", "test the promises of a backend about its bits: threads, batch, alignment, special values, ...",
                      [](CLI::App& app) -> std::function<int()> {
                        auto o = std::make_shared<Options>();
                        app.add_option("backend", o->backend, "see `samebits backends`");
                        app.add_option("--clause", o->check.only, "run only this clause (may be given more than once)");
                        app.add_option("--except", o->check.except, "leave this clause out (may be given more than once)");
                        app.add_flag("--list", o->list, "list the clauses");
                        app.add_option("--dtype", o->dtypes, "f32, f64 (default: both)")->check(CLI::IsMember({"f32", "f64"}));
                        app.add_option("--threads", o->check.threads, "thread counts to compare")->delimiter(',')->capture_default_str();
                        app.add_option("--same-as", o->check.other, "a second backend whose bits must be the same");
                        app.add_flag("--quick", o->check.quick, "few and small shapes");
                        app.add_option("--junit", o->junit, "write JUnit XML to this file");
                        app.add_flag("--json", o->json, "as JSON");
                        app.footer("Exit status: 0 every clause holds or does not apply, 1 a clause fails, 2 an error.");
                        return [o] { return run(*o); };
                      }};

}  // namespace
}  // namespace samebits::cli
