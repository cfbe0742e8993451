// SPDX-License-Identifier: Apache-2.0
// The report of the determinism suite as text and as JUnit's XML.
#include <fmt/format.h>

#include <algorithm>

#include "samebits/check.h"

namespace samebits {
namespace {

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n')
      out += c;
  }
  return out;
}

const char* word(ClauseResult::Verdict v) {
  return v == ClauseResult::Verdict::holds ? "holds" : v == ClauseResult::Verdict::fails ? "FAILS" : "not applicable";
}

}  // namespace

bool CheckReport::ok() const {
  return std::none_of(results.begin(), results.end(),
                      [](const ClauseResult& r) { return r.verdict == ClauseResult::Verdict::fails; });
}

std::string CheckReport::text() const {
  std::string out = fmt::format("{}: {}\n", backend, description);
  std::size_t width = 0;
  for (const auto& r : results) width = std::max(width, r.id.size());
  for (const auto& r : results) {
    out += fmt::format("  {:{}}  {:14}  {}\n", r.id, width, word(r.verdict), r.text);
    if (!r.detail.empty()) out += fmt::format("  {:{}}    {}\n", "", width, r.detail);
    if (!r.left.empty()) out += fmt::format("  {:{}}    orders: {}  |  {}\n", "", width, r.left, r.right);
  }
  const auto count = [&](ClauseResult::Verdict v) {
    return std::count_if(results.begin(), results.end(), [v](const ClauseResult& r) { return r.verdict == v; });
  };
  return out + fmt::format("{} hold, {} fail, {} not applicable\n", count(ClauseResult::Verdict::holds),
                           count(ClauseResult::Verdict::fails), count(ClauseResult::Verdict::not_applicable));
}

std::string CheckReport::junit() const {
  std::size_t failures = 0, skipped = 0;
  double seconds = 0;
  std::string cases;
  for (const auto& r : results) {
    seconds += r.seconds;
    cases += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", xml(backend), r.id, r.seconds);
    if (r.verdict == ClauseResult::Verdict::fails) {
      ++failures;
      cases += fmt::format("<failure message=\"{}\">{}</failure>", xml(r.text),
                           xml(r.detail + (r.left.empty() ? "" : "\n" + r.left + "\n" + r.right)));
    } else if (r.verdict == ClauseResult::Verdict::not_applicable) {
      ++skipped;
      cases += fmt::format("<skipped message=\"{}\"/>", xml(r.detail));
    }
    cases += "</testcase>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"samebits check {}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuite>\n",
      xml(backend), results.size(), failures, skipped, seconds, cases);
}

}  // namespace samebits
