// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "cli/verb.h"
#include "explain/compare.h"
#include "io/npy.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string left, right;
  std::optional<io::Stored> void16;
  bool json = false;
};

// An array as a matrix: all dimensions but the last are rows.
template <class T>
MatrixView<const T> as_matrix(const io::Array& array, const std::vector<T>& data) {
  const Index cols = array.shape.empty() ? 1 : array.shape.back();
  return row_major<const T>(data.data(), cols == 0 ? 0 : array.size() / cols, cols);
}

int run(const Options& options) {
  const auto left = io::read_npy(options.left, options.void16), right = io::read_npy(options.right, options.void16);
  if (left.shape != right.shape || left.dtype() != right.dtype())
    throw Error(Code::invalid_argument,
                fmt::format("cannot compare {} {} ({}) with {} {} ({})", io::name(left.stored), left.shape_text(), options.left,
                            io::name(right.stored), right.shape_text(), options.right));
  const auto result = left.dtype() == DType::f64
                          ? explain::compare(as_matrix(left, left.f64), as_matrix(right, right.f64))
                          : explain::compare(as_matrix(left, left.f32), as_matrix(right, right.f32));
  if (options.json) {
    nlohmann::ordered_json json = {{"schema", "samebits.compare/1"},
                                   {"equal", result.equal()},
                                   {"elements", result.elements},
                                   {"different", result.different},
                                   {"max_ulp", nullptr}};
    if (result.max_ulp) json["max_ulp"] = *result.max_ulp;
    for (std::size_t i = 0; i < result.bins.size(); ++i) json["ulp_histogram"][result.bins[i]] = result.histogram[i];
    if (!result.equal()) json.update({{"where", result.where}, {"first", {result.first_row, result.first_col}}});
    fmt::print("{}\n", json.dump(2));
  } else if (!globals().quiet) {
    fmt::print("{}", result.text());
  }
  return result.equal() ? 0 : 1;
}

const Verb verb("compare", "compare the bits of two .npy files: 0 equal, 1 different, 2 error", [](CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("LEFT", options->left, ".npy file")->required();
  app.add_option("RIGHT", options->right, ".npy file")->required();
  add_dtype(app, options->void16);
  app.add_flag("--json", options->json, "print JSON");
  return std::function<int()>([options] { return run(*options); });
});

}  // namespace
}  // namespace samebits::cli
