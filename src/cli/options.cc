// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "cli/verb.h"

namespace samebits::cli {

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) {
    std::int64_t value = 0;
    if (!CLI::detail::lexical_cast(text, value)) return fmt::format("expected a whole number, found {}", text);
    return value < least ? fmt::format("must be at least {}, found {}", least, text) : std::string();
  };
  return CLI::Validator(check, fmt::format("INT >= {}", least));
}

void add_dtype(CLI::App& app, std::optional<io::Stored>& void16) {
  app.add_option_function<std::string>(
         "--dtype", [&void16](const std::string& name) { void16 = name == "bf16" ? io::Stored::bf16 : io::Stored::f16; },
         "what raw two-byte elements ('V2') are")
      ->check(CLI::IsMember({"bf16", "f16"}));
}

void add_reading(CLI::App& app, ReadingFlags& flags) {
  app.add_flag("--ta", flags.a, "A is stored transposed");
  app.add_flag("--tb", flags.b, "B is stored transposed");
}

io::Operands choose_operands(const io::Array& a, const io::Array& b, const ReadingFlags& flags) {
  const io::Reading asked{flags.a, flags.b};
  const auto fitting = io::readings(a, b);
  const bool fits = std::find(fitting.begin(), fitting.end(), asked) != fitting.end();
  if (fits || flags.a || flags.b || fitting.size() != 1) return io::operands(a, b, asked);
  if (!globals().quiet)
    fmt::print(stderr, "samebits: {}: only{}{} fits\n", a.shape_text() + " x " + b.shape_text(),
               fitting[0].trans_a ? " --ta" : "", fitting[0].trans_b ? " --tb" : "");
  return io::operands(a, b, fitting[0]);
}

GpuCheckOption::GpuCheckOption(CLI::App& app) {
  app.add_option("--gpucheck", file_, "JSON of samebits-gpucheck: measured orders of cuBLAS in place of predictions")
      ->type_name("FILE");
}

std::optional<report::GpuCheck> GpuCheckOption::read() const {
  constexpr const char* usual = "samebits-gpucheck.json";
  if (file_.empty() && !std::filesystem::exists(usual)) return {};
  auto check = report::read_gpucheck(file_.empty() ? usual : file_);
  if (check.device.empty()) return {};
  return check;
}

}  // namespace samebits::cli
