// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace samebits::report {
namespace {

using Json = nlohmann::ordered_json;

std::string range(const Range& r) {
  return fmt::format("{}:{}:{}", r.begin, r.end, r.step);
}

Json region(const explain::RegionReport& r) {
  Json j = {{"rows", range(r.rows)},     {"cols", range(r.cols)}, {"order", r.order.empty() ? Json(nullptr) : Json(r.order)},
            {"elements", r.elements},    {"tried", r.tried},      {"candidates", r.candidates},
            {"identified", r.identified}};
  if (!r.profiles.empty()) j["profiles"] = r.profiles;
  if (!r.others.empty()) j["others"] = r.others;
  if (!r.probe.empty()) j["probe"] = r.probe;
  return j;
}

Json side(const explain::SideReport& s) {
  Json j = {{"name", s.name}, {"explained", s.explained}, {"reproduced", s.reproduced}, {"regions", Json::array()}};
  for (const auto& r : s.regions) j["regions"].push_back(region(r));
  j["order"] = s.order.empty() ? Json(nullptr) : Json(s.order);
  j["outside_bound"] = s.outside;
  j["notes"] = s.notes;
  return j;
}

Json trace(const explain::TraceReport& t) {
  Json j = {{"element", {t.row, t.col}},
            {"item", t.item},
            {"orders", {t.left_order, t.right_order}},
            {"left", t.left},
            {"right", t.right}};
  j["steps"] = Json::array();
  for (const auto& s : t.steps)
    j["steps"].push_back({{"leaves", s.leaves}, {"left", s.left}, {"right", s.right}, {"differs", s.differs}});
  return j;
}

}  // namespace

std::string json(const explain::Report& r) {
  Json j = {{"schema", "samebits.explain/1"},
            {"verdict", explain::name(r.verdict)},
            {"dtype", r.dtype},
            {"m", r.m},
            {"n", r.n},
            {"k", r.k},
            {"elements", r.elements},
            {"different", r.different},
            {"max_ulp", r.max_ulp ? Json(*r.max_ulp) : Json(nullptr)}};
  if (r.batch > 1) j["batch"] = r.batch;
  j["sides"] = Json::array({side(r.sides[0]), side(r.sides[1])});
  j["factors"] = Json::array();
  for (const auto& f : r.factors)
    j["factors"].push_back({{"factor", f.factor}, {"from", f.from}, {"to", f.to}, {"changed", f.changed}});
  j["trace"] = r.trace ? trace(*r.trace) : Json(nullptr);
  j["nearer"] = {{"left", r.nearer[0]}, {"right", r.nearer[1]}, {"judged", r.judged}};
  j["advice"] = r.advice;
  return j.dump(2) + "\n";
}

std::string json(const explain::TraceReport& t) {
  return trace(t).dump(2) + "\n";
}

}  // namespace samebits::report
