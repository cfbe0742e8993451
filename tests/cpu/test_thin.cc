// SPDX-License-Identifier: Apache-2.0
// Products of few rows or few columns, which have kernels of their own, on both sides of every size where those change.
#include "cpu/blocking.h"
#include "cpu/problem.h"

namespace samebits::test {
namespace {

// The order, on every instruction set; B is streamed from the smallest size on, `stream_k` values of k at a time.
template <class T>
void check_thin(const Problem<T>& p, Index stream_k) {
  cpu::Blocking sizes = cpu::blocking();
  sizes.stream_bytes = 0, sizes.stream_k = stream_k;
  cpu::override_blocking(&sizes);
  for (const std::string& isa : usable_isas()) check(p, {.threads = 1, .isa = isa});
  cpu::override_blocking(nullptr);
}

template <class T>
void thin(bool one_column) {
  std::uint64_t seed = 5000;
  Random random(seed);
  for (const char* order : {"fma", "mul", "chunks(8) > fma", "chunks(21) > mul", "pairwise(5) > fma", "reverse > fma",
                            "lanes(4, fold=halves) > fma", "epilogue(c=seed) > fma", "epilogue(c=first, alpha=block) > fma"})
    for (const Index few : {1, 2, 5, 8, 9, 13, 31})
      for (const Index many : {31, 64, 81})
        for (const Index k : {1, 8, 25, 70}) {
          Problem<T> p;
          p.order = order;
          p.seed = ++seed;
          p.m = one_column ? many : few, p.n = one_column ? few : many, p.k = k;
          p.a = random.of<Layout>(
              {Layout::rows, Layout::padded_rows, Layout::columns, Layout::padded_columns, Layout::reversed});
          p.b = random.of<Layout>(
              {Layout::rows, Layout::padded_rows, Layout::columns, Layout::padded_columns, Layout::spread});
          p.c = random.of<Layout>({Layout::rows, Layout::padded_rows, Layout::columns, Layout::spread});
          if (random.chance(30)) p.alpha = T(-0.75);
          if (random.chance(30)) p.beta = T(1.5);
          p.values = random.of<Values>({Values::normal, Values::corners});
          check_thin(p, random.of<Index>({8, 8, 3, 16}));
          if (testing::Test::HasFailure()) return;
        }
}

TEST(Thin, FewRowsFloat) {
  thin<float>(false);
}
TEST(Thin, FewRowsDouble) {
  thin<double>(false);
}
TEST(Thin, FewColumnsFloat) {
  thin<float>(true);
}
TEST(Thin, FewColumnsDouble) {
  thin<double>(true);
}

}  // namespace
}  // namespace samebits::test
