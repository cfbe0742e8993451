// SPDX-License-Identifier: Apache-2.0
#include "report/gpucheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "samebits/error.h"

namespace samebits::report {
namespace {

using Json = nlohmann::json;

GpuCheck::Call read_call(const Json& j) {
  GpuCheck::Call call;
  call.backend = j.at("backend"), call.mode = j.value("mode", "default"), call.library = j.value("library", "");
  call.m = j.at("m"), call.n = j.at("n"), call.k = j.at("k");
  call.trans_b = j.at("layout") == "TN";
  call.reproduced = j.at("reproduced");
  if (call.reproduced) call.order = j.at("order");
  return call;
}

// Whether one of the profiles that predict the side's order is a GPU's.
bool predicted_for_gpu(const explain::SideReport& side) {
  return std::ranges::any_of(side.regions, [](const auto& region) {
    return std::ranges::any_of(region.profiles, [](const std::string& p) {
      return p.starts_with("cublas") || p.starts_with("pytorch-cuda") || p.starts_with("onnxruntime-cuda");
    });
  });
}

bool same_order(const std::string& x, const std::string& y, Index k) {
  const Order a = Order::parse(x), b = Order::parse(y);
  if (a.has_regions() || b.has_regions()) return a == b;
  return equivalent(a, b, static_cast<std::size_t>(k));
}

}  // namespace

std::string GpuCheck::Call::text() const {
  return fmt::format("{}(mode={}) {}", backend, mode, trans_b ? "TN" : "NN");
}

const GpuCheck::Call* GpuCheck::find(std::string_view backend, std::string_view mode, Index m, Index n, Index k,
                                     bool trans_b) const {
  const auto call = std::ranges::find_if(calls, [&](const Call& c) {
    return c.backend == backend && c.mode == mode && c.m == m && c.n == n && c.k == k && c.trans_b == trans_b;
  });
  return call == calls.end() ? nullptr : &*call;
}

GpuCheck read_gpucheck(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw Error(Code::io, fmt::format("cannot read {}", file.string()));
  GpuCheck check;
  try {
    const Json j = Json::parse(in);
    if (j.at("schema") != 1 || !j.at("program").get<std::string>().starts_with("samebits-gpucheck"))
      throw Error(Code::syntax, fmt::format("{}: not the output of a samebits-gpucheck that is known here", file.string()));
    if (j.at("device").is_null()) return check;
    check.device = fmt::format("{} (sm_{})", j["device"].at("name").get<std::string>(),
                               j["device"].at("architecture").get<int>());
    for (const char* step : {"origin_case", "shapes"}) {
      const auto found = j.at("steps").find(step);
      if (found == j["steps"].end() || !found->contains("results")) continue;
      for (const Json& result : (*found)["results"])
        if (result.contains("m")) {  // else a library that could not be opened
          check.calls.push_back(read_call(result));
          if (!check.calls.back().reproduced) continue;
          static_cast<void>(Order::parse(check.calls.back().order));
        }
    }
  } catch (const Json::exception& e) {
    throw Error(Code::syntax, fmt::format("{}: not the output of samebits-gpucheck: {}", file.string(), e.what()));
  }
  return check;
}

std::string gpu_note(const GpuCheck& check, const explain::Report& report, const explain::SideReport& side) {
  if (check.device.empty() || side.order.empty()) return "";
  std::vector<std::string> agree, other;
  for (const auto& call : check.calls) {
    if (call.m != report.m || call.n != report.n || call.k != report.k) continue;
    if (call.reproduced && same_order(call.order, side.order, report.k))
      agree.push_back(call.text());
    else
      other.push_back(fmt::format("{}: {}", call.text(), call.reproduced ? call.order : "no order found"));
  }
  if (!agree.empty()) return fmt::format("measured on {}: so add {}", check.device, fmt::join(agree, ", "));
  if (!predicted_for_gpu(side)) return "";
  if (other.empty()) return fmt::format("for a GPU this is a prediction: not measured at this shape on {}", check.device);
  return fmt::format("the prediction for a GPU did not hold: measured on {}: {}", check.device, fmt::join(other, ", "));
}

}  // namespace samebits::report
