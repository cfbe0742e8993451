// SPDX-License-Identifier: Apache-2.0
// Every instruction set, type and kind of order, for Google Benchmark: --benchmark_filter, --benchmark_out=FILE.json, ...
#include "samebits/gemm.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <vector>

namespace {

using samebits::Index;

template <class T>
void multiply(benchmark::State& state, const std::string& order, const std::string& isa, Index m, Index n, Index k) {
  const std::vector<T> a(m * k, T(1)), b(k * n, T(-1));
  std::vector<T> c(m * n);
  const samebits::Plan<T> plan(samebits::Order::parse(order), m, n, k, {.threads = 1, .isa = isa});
  const auto a_view = samebits::row_major(a.data(), m, k), b_view = samebits::row_major(b.data(), k, n);
  const auto c_view = samebits::row_major(c.data(), m, n);
  for (auto _ : state) {
    plan.run(T(1), a_view, b_view, T(0), c_view);
    benchmark::ClobberMemory();
  }
  for (const T& x : c)
    if (x != T(-k)) return state.SkipWithError("wrong result");
  state.SetLabel(plan.kernel());
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * double(m) * double(n) * double(k), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  std::string last;
  for (const samebits::KernelInfo& kernel : samebits::kernels()) {
    if (!kernel.built || !kernel.supported || kernel.isa == "reference" || kernel.isa == last) continue;
    last = kernel.isa;
    for (const char* order : {"fma", "mul", "chunks(256) > fma", "lanes(16, fold=halves) > fma", "pairwise(8) > fma"})
      for (const Index n : {6, 16, 64, 256, 1024}) {
        if (kernel.isa == "portable" && n > 256) continue;
        const std::string name = fmt::format("{}/{}/{}", kernel.isa, order, n);
        benchmark::RegisterBenchmark(("f32/" + name).c_str(), multiply<float>, order, kernel.isa, n, n, n);
        benchmark::RegisterBenchmark(("f64/" + name).c_str(), multiply<double>, order, kernel.isa, n, n, n);
      }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
