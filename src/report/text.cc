// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/report.h"

namespace samebits::report {
namespace {

using explain::Report;
using explain::SideReport;
using explain::Verdict;

constexpr Index most_places = 4;

std::string where(const Range& r, Index limit, const char* name) {
  if (r.begin == 0 && r.end >= limit && r.step == 1) return fmt::format("all {}s", name);
  if (r.end == r.begin + 1) return fmt::format("{} {}", name, r.begin);
  if (r.step == 1) return fmt::format("{}s {}:{}", name, r.begin, r.end);
  return fmt::format("{}s {}:{}:{}", name, r.begin, r.end, r.step);
}
std::string where(const explain::RegionReport& r, const Report& report) {
  return fmt::format("{}, {}", where(r.rows, report.m, "row"), where(r.cols, report.n, "column"));
}

std::string plural(Index n, const char* word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

void add_side(std::string& out, const Report& report, const SideReport& s, std::string_view bold, std::string_view plain) {
  const bool all = s.reproduced == report.elements;
  const char* state = s.explained    ? "identified"
                      : s.outside    ? "outside the bound"
                      : all          ? "reproduced, not identified"
                      : s.reproduced ? "reproduced in part"
                                     : "not reproduced";
  out += fmt::format("\n{}{}{}: {}, {} of {} elements replayed bit for bit\n", bold, s.name, plain, state, s.reproduced,
                     report.elements);
  // Regions with one order are told together.
  std::vector<bool> told(s.regions.size());
  for (std::size_t x = 0; x < s.regions.size(); ++x) {
    if (told[x]) continue;
    const auto& r = s.regions[x];
    std::string places;
    Index elements = 0, regions = 0;
    for (std::size_t y = x; y < s.regions.size(); ++y) {
      const auto& same = s.regions[y];
      if (told[y] || same.order != r.order || same.identified != r.identified || same.candidates != r.candidates) continue;
      told[y] = true;
      elements += same.elements;
      const bool rest = y + 1 == s.regions.size() && regions == 0 && s.regions.size() > 1 &&
                        same.elements < (same.rows.end - same.rows.begin) * (same.cols.end - same.cols.begin) *
                                            report.batch / same.rows.step / same.cols.step;
      if (++regions <= most_places)
        places += fmt::format("{}{}", places.empty() ? "" : "; ", rest ? "the rest" : where(same, report));
    }
    if (regions > most_places) places += fmt::format("; and {} more", regions - most_places);
    if (r.order.empty()) {
      out += fmt::format("  no order found for {} ({} tried)\n", plural(elements, "element"), r.tried);
      continue;
    }
    out += fmt::format("  {}{}{}\n", bold, r.order, plain);
    if (s.regions.size() > 1) out += fmt::format("      {}\n", places);
    if (r.tried)
      out += fmt::format("      {}, {} tried, {}{}\n", plural(elements, "element"), plural(r.tried, "order"),
                         plural(r.candidates, "candidate"), r.candidates > 1 ? " left: ambiguous" : " left");
    if (!r.others.empty()) out += fmt::format("      also possible: {}\n", fmt::join(r.others, "; "));
    if (!r.probe.empty()) out += fmt::format("      told apart by {}\n", r.probe);
  }
  if (!s.regions.empty()) {
    // One name a system; the others differ in keys that do not matter here.
    std::vector<std::string> systems, shown;
    for (const auto& p : s.regions.front().profiles) {
      const auto system = p.substr(0, p.find('('));
      if (std::ranges::find(systems, system) != systems.end()) continue;
      systems.push_back(system);
      shown.push_back(p);
    }
    if (!shown.empty()) out += fmt::format("  predicted by {}\n", fmt::join(shown, ", "));
  }
  for (const auto& note : s.notes) out += fmt::format("  {}\n", note);
}

}  // namespace

std::string text(const Report& r, bool color) {
  const std::string_view bold = color ? "\x1b[1m" : "", plain = color ? "\x1b[0m" : "";
  std::string out = fmt::format("{}{}{}: {} x {} x {} (m, n, k), {}{}", bold, explain::name(r.verdict), plain, r.m, r.n, r.k,
                                r.dtype, r.batch > 1 ? fmt::format(", batch of {}", r.batch) : "");
  if (r.different == 0) {
    out += fmt::format("; all {} elements have the same bits\n", r.elements);
  } else {
    out += fmt::format("; {} of {} elements differ ({}), ", r.different, r.elements, r.where);
    out += r.max_ulp ? fmt::format("by {} at most\n", plural(static_cast<Index>(*r.max_ulp), "ulp"))
                     : "a NaN or an infinity meets a number\n";
  }
  for (const auto& s : r.sides) add_side(out, r, s, bold, plain);
  if (!r.factors.empty()) {
    out += fmt::format("\n{}From {} to {}{}, one factor at a time:\n", bold, r.sides[0].name, r.sides[1].name, plain);
    for (const auto& f : r.factors)
      out += fmt::format("  {:<12} {}  ->  {}: {} changed\n", f.factor, f.from, f.to, plural(f.changed, "element"));
  }
  if (r.trace) out += fmt::format("\n{}Element ({}, {}){}\n{}", bold, r.trace->row, r.trace->col, plain, r.trace->text);
  if (r.judged)
    out += fmt::format("\nNearer to the exact value on {} of {} differing elements: {}; on {}: {}\n", r.nearer[0], r.judged,
                       r.sides[0].name, r.nearer[1], r.sides[1].name);
  if (!r.advice.empty()) {
    out += fmt::format("\n{}To get the same bits{}\n", bold, plain);
    for (const auto& a : r.advice) out += fmt::format("  {}\n", a);
  }
  return out;
}

}  // namespace samebits::report
