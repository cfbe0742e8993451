// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "cli/options.h"
#include "cli/verb.h"
#include "profiles/profile.h"
#include "samebits/gemm.h"

namespace samebits::cli {
namespace {

struct Options {
  std::string a, b, c, bias, output, order = "fma";
  double alpha = 1, beta = 0;
  Context context;
  std::optional<io::Stored> void16;
  ReadingFlags reading;
};

template <class T>
const std::vector<T>& data(const io::Array& array) {
  if constexpr (std::is_same_v<T, float>) return array.f32;
  else return array.f64;
}

template <class T>
std::vector<T> broadcast(const io::Array& array, const std::vector<Index>& shape) {
  if (array.dtype() != dtype_of<T>) throw Error(Code::invalid_argument, "the files are not of one type");
  if constexpr (std::is_same_v<T, float>) return io::broadcast_f32(array, shape);
  else return io::broadcast_f64(array, shape);
}

Order resolve(const Order& order, const io::Operands& x, DType dtype, int threads) {
  if (!order.is_profile()) return order;
  profiles::Call call;
  call.dtype = dtype;
  call.m = x.m, call.n = x.n, call.k = x.k;
  call.trans_a = x.reading.trans_a, call.trans_b = x.reading.trans_b;
  call.a_shape = x.a_shape, call.b_shape = x.b_shape;
  call.a_contiguous = x.a_contiguous, call.b_contiguous = x.b_contiguous;
  call.threads = threads > 0 ? threads : 1;
  if (const auto resolved = profiles::resolve(order, call)) return *resolved;
  throw Error(Code::unsupported, fmt::format("the profile {} does not know this call", order.text()));
}

template <class T>
int multiply(const Options& options, const io::Array& a, const io::Array& b, const io::Operands& x) {
  const Order order = resolve(Order::parse(options.order), x, dtype_of<T>, options.context.threads);
  io::Array result;
  result.shape = x.c_shape;
  result.stored = sizeof(T) == 4 ? io::Stored::f32 : io::Stored::f64;
  std::vector<T> c = options.c.empty() ? std::vector<T>(static_cast<std::size_t>(x.count) * x.m * x.n)
                                       : broadcast<T>(io::read_npy(options.c, options.void16), x.c_shape);
  std::vector<T> bias_values;
  Bias<T> bias;
  if (!options.bias.empty()) {
    bias_values = broadcast<T>(io::read_npy(options.bias, options.void16), {x.n});
    bias.data = bias_values.data();
  }
  const Plan<T> plan(order, x.m, x.n, x.k, options.context);
  for (Index i = 0; i < x.count; ++i)
    plan.run(static_cast<T>(options.alpha), x.a(data<T>(a).data(), i), x.b(data<T>(b).data(), i), static_cast<T>(options.beta),
             x.c(c.data(), i), bias);
  if constexpr (std::is_same_v<T, float>) result.f32 = std::move(c);
  else result.f64 = std::move(c);
  io::write_npy(options.output, result);
  if (!globals().quiet)
    fmt::print("{}: {} {}, order {}, {}\n", options.output, io::name(result.stored), result.shape_text(), order.text(),
               plan.kernel());
  return 0;
}

int run(const Options& options) {
  const auto a = io::read_npy(options.a, options.void16), b = io::read_npy(options.b, options.void16);
  const auto x = choose_operands(a, b, options.reading);
  return a.dtype() == DType::f64 ? multiply<double>(options, a, b, x) : multiply<float>(options, a, b, x);
}

const Verb verb("gemm", "multiply two .npy files in a chosen order", [](CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("A", options->a, ".npy file, (..., m, k)")->required();
  app.add_option("B", options->b, ".npy file, (..., k, n)")->required();
  app.add_option("-o,--output", options->output, ".npy file to write")->required();
  app.add_option("--order", options->order, "accumulation order or profile (see `samebits orders`)")->capture_default_str();
  app.add_option("--c", options->c, "C before the product, for --beta");
  app.add_option("--bias", options->bias, "n values added to each row");
  app.add_option("--alpha", options->alpha, "C <- alpha*A*B + beta*C")->capture_default_str();
  app.add_option("--beta", options->beta)->capture_default_str()->needs(app.get_option("--c"));
  app.add_option("--threads", options->context.threads, "0: SAMEBITS_NUM_THREADS, else 1; changes no bit")
      ->check(at_least(0));
  app.add_option("--isa", options->context.isa, "portable, avx2, avx512, reference; changes no bit");
  add_reading(app, options->reading);
  add_dtype(app, options->void16);
  return std::function<int()>([options] { return run(*options); });
});

}  // namespace
}  // namespace samebits::cli
