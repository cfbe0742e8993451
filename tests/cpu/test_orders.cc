// SPDX-License-Identifier: Apache-2.0
// Random orders, shapes, layouts, scalars, threads and instruction sets, against the reference evaluator.
#include <algorithm>
#include <cstdlib>

#include "cpu/blocking.h"
#include "cpu/problem.h"
#include "cpu/product.h"

namespace samebits::test {
namespace {

// A random tree over the leaves ks, as text.
std::string tree_text(Random& random, std::vector<Index> ks) {
  std::string text;
  for (std::size_t done = 0; done < ks.size();) {
    std::size_t count = static_cast<std::size_t>(random.between(1, static_cast<Index>(ks.size() - done)));
    if (random.chance(60)) count = std::min<std::size_t>(count, 3);
    if (!text.empty()) text += " + ";
    if (count == 1 && random.chance(70)) {
      text += std::to_string(ks[done]);
    } else if (count == ks.size()) {
      for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? " + " : "") + std::to_string(ks[i]);
    } else {
      text += "(" + tree_text(random, {ks.begin() + done, ks.begin() + done + count}) + ")";
    }
    done += count;
  }
  return text;
}

std::string random_tree(Random& random, Index k) {
  std::vector<Index> ks(k);
  for (Index i = 0; i < k; ++i) ks[i] = i;
  if (random.chance(80)) std::ranges::shuffle(ks, random.engine());
  return "tree(" + tree_text(random, ks) + ")";
}

std::string random_order(Random& random, Index k) {
  const std::string op = random.chance(60) ? "fma" : "mul";
  const auto number = [&](Index low, Index high) { return std::to_string(random.between(low, high)); };
  std::string stages;
  switch (random.below(14)) {
    case 0:
      break;
    case 1:
      stages = "chunks(" + number(1, 40) + ") > ";
      break;
    case 2:
      stages = "chunks(" + number(8, 64) + ", balance=4) > ";
      break;
    case 3:
      stages = "split(" + number(1, 7) + ") > ";
      break;
    case 4:
      stages = "lanes(" + random.of<std::string>({"2", "4", "8", "16"}) +
               ", fold=" + random.of<std::string>({"halves", "pairs", "left", "hadd"}) +
               ", tail=" + random.of<std::string>({"lanes", "chain", "sum", "lane0"}) + ") > ";
      break;
    case 5:
      stages = "pairwise(" + number(1, 20) + ") > ";
      break;
    case 6:
      stages = "reverse > ";
      break;
    case 7:
      stages = "reverse > pairwise(3) > ";
      break;
    case 8:
      stages = "split(2) > chunks(" + number(2, 20) + ") > ";
      break;
    case 9:
      stages = "f64 > pairwise(" + number(4, 20) + ") > ";
      break;
    case 10:
      stages = random.of<std::string>({"tf32(rna) > ", "bf16(rne) > ", "fp16(rne) > "}) + "chunks(" + number(5, 60) + ") > ";
      break;
    case 11:
      stages = "chunks(" + number(3, 33) + ") > lanes(4) > ";
      break;
    default:
      if (k > 0 && k <= 64) stages = random_tree(random, k) + " > ";
  }
  return stages + op;
}

std::string random_epilogue(Random& random) {
  if (random.chance(70)) return "";
  std::string text = "epilogue(alpha=" + random.of<std::string>({"end", "block", "a"}) +
                     ", c=" + random.of<std::string>({"last", "first", "seed"});
  if (random.chance(40)) text += ", fused";
  return text + ") > ";
}

std::string with_regions(Random& random, const Problem<float>& shape, const std::string& rest) {
  std::string text = "regions(";
  for (Index count = random.between(1, 3); count > 0; --count) {
    const auto range = [&](const char* name, Index n) {
      const Index begin = random.below(n), end = random.between(begin + 1, n);
      return fmt::format("{}={}:{}:{}", name, begin, end, random.between(1, 3));
    };
    text += range("rows", shape.m) + " " + range("cols", shape.n) + ": " + random_order(random, shape.k) + "; ";
  }
  return text + "rest: " + rest + ")";
}

// Sizes that no machine has: every cut and every way through the loops on small problems.
cpu::Blocking odd_blocking(Random& random) {
  return {.cpu = "test",
          .k_bytes = random.of<Index>({1, 40, 200, 1 << 20}),
          .b_bytes = random.of<Index>({1, 3000, 1 << 20}),
          .a_bytes = random.of<Index>({1, 3000, 1 << 20}),
          .in_place_work = random.of<Index>({0, 0, 1 << 30}),
          .skinny = random.of<Index>({0, 0, 3, 40}),
          .stream_bytes = random.of<Index>({0, 1000}),
          .stream_k = random.of<Index>({1, 7, 8, 16}),
          .thread_work = random.of<Index>({1, 1000}),
          .split_vectors = random.of<int>({0, 1}) == 1,
          .mul_isa = ""};
}

// Times the count of SAMEBITS_TEST_TIMES: a longer hunt.
int times(int count) {
  const char* text = std::getenv("SAMEBITS_TEST_TIMES");
  return text != nullptr ? count * std::max(1, std::atoi(text)) : count;
}

template <class T>
void random_problems(std::uint64_t first_seed, int count, Index largest, bool regions) {
  tally = {};
  count = times(count);
  const std::vector<std::string> isas = usable_isas();
  const std::vector<Layout> layouts = {Layout::rows,           Layout::rows,     Layout::padded_rows, Layout::columns,
                                       Layout::padded_columns, Layout::reversed, Layout::spread};
  for (std::uint64_t seed = first_seed; seed < first_seed + count && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    Problem<T> p;
    p.seed = seed;
    const auto size = [&] { return random.chance(30) ? random.between(1, 4) : random.between(1, largest); };
    p.m = size(), p.n = size(), p.k = random.chance(10) ? random.between(0, 3) : random.between(1, 3 * largest);
    if (random.chance(30)) p.k = std::min<Index>(p.k, 24);
    p.order = random_epilogue(random) + random_order(random, p.k);
    if (p.order.find("f64") != std::string::npos && sizeof(T) == 8) p.order = "fma";
    if (random.chance(10)) p.order = "out(bf16) > " + p.order;
    if (regions) p.order = with_regions(random, {.m = p.m, .n = p.n, .k = p.k}, p.order);
    p.alpha = random.of<T>({1, 1, 1, T(-0.75), T(1.1), 0});
    p.beta = random.of<T>({0, 0, 0, 1, T(-0.3), T(2)});
    p.a = random.chance(5) ? Layout::repeated_row : random.of(layouts);
    p.b = random.chance(5) ? Layout::repeated_row : random.of(layouts);
    p.c = random.of(layouts);
    p.bias_stride = random.of<Index>({-1, -1, -1, 0, 1, 2});
    p.values = random.of<Values>({Values::normal, Values::normal, Values::integers, Values::corners});
    for (const std::string& isa : isas) {
      const cpu::Blocking sizes = odd_blocking(random);
      if (random.chance(70)) cpu::override_blocking(&sizes);
      check(p, {.threads = int(random.between(1, 4)), .isa = isa});
      cpu::override_blocking(nullptr);
    }
  }
  const int all = tally.kernels + tally.reference + tally.refused;
  EXPECT_GT(tally.kernels, all * 2 / 3) << tally.reference << " by the reference, " << tally.refused << " refused";
}

// Orders whose pieces the epilogue scales, or whose sum it begins with C, or that change precision between the pieces and
// their sum. The kernels compute them all.
template <class T>
void piece_problems(std::uint64_t first_seed, int count) {
  tally = {};
  count = times(count);
  for (std::uint64_t seed = first_seed; seed < first_seed + count && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    Problem<T> p;
    p.seed = seed;
    p.m = random.between(1, 40), p.n = random.between(1, 70), p.k = random.between(1, 200);
    const auto number = [&](Index low, Index high) { return std::to_string(random.between(low, high)); };
    std::vector<std::string> stages = {"chunks(" + number(1, 60) + ") > ",
                                       "split(" + number(2, 6) + ") > ",
                                       "lanes(4, fold=" + random.of<std::string>({"left", "halves"}) + ", tail=sum) > ",
                                       "split(2) > lanes(8, tail=chain) > ",
                                       "chunks(" + number(20, 60) + ") > pairwise(" + number(2, 9) + ") > ",
                                       "reverse > chunks(" + number(5, 60) + ") > ",
                                       "bf16(rne) > pairwise(" + number(8, 30) + ") > "};
    const std::string op = random.of<std::string>({"fma", "mul", "mul(start=first)"});
    const bool mixed = sizeof(T) == 4 && random.chance(30);
    std::string stage = random.of(stages);
    if (mixed)
      stage = random.of<std::string>({"split(" + number(1, 5) + ") > f64 > ", "f64 > " + stages[0], "f64 > pairwise(" + number(3, 40) + ") > ",
                                      "chunks(" + number(20, 60) + ") > f64 > chunks(" + number(3, 60) + ") > "});
    else if (random.chance(10))
      stage = "out(bf16) > split(" + number(2, 6) + ", partial=out) > ";
    p.order = "epilogue(" + random.of<std::string>({"alpha=block, c=last", "alpha=block, c=first", "alpha=a, c=first"}) +
              (random.chance(40) ? ", fused) > " : ") > ") + stage + op;
    if (mixed && random.chance(30)) p.order = stage + op;
    p.alpha = random.of<T>({1, T(-0.75), T(1.1)});
    p.beta = random.of<T>({0, 1, T(-0.3)});
    const std::vector<Layout> layouts = {Layout::rows, Layout::padded_rows, Layout::columns, Layout::spread};
    p.a = random.of(layouts), p.b = random.of(layouts), p.c = random.of(layouts);
    p.bias_stride = random.of<Index>({-1, -1, 0, 1});
    p.values = random.of<Values>({Values::normal, Values::normal, Values::corners});
    for (const std::string& isa : usable_isas()) {
      const cpu::Blocking sizes = odd_blocking(random);
      if (random.chance(70)) cpu::override_blocking(&sizes);
      check(p, {.threads = int(random.between(1, 4)), .isa = isa});
      const auto product = cpu::make_product<T>(Order::parse(p.order), p.m, p.n, p.k, isa);
      EXPECT_TRUE(product && product->can_run(p.alpha, p.beta)) << p.text();
      cpu::override_blocking(nullptr);
    }
  }
  EXPECT_GT(tally.kernels, 0);
  EXPECT_EQ(tally.reference + tally.refused, 0) << tally.reference << " by the reference, " << tally.refused << " refused";
}

}  // namespace

TEST(Orders, FloatPieces) {
  piece_problems<float>(7000, 200);
}
TEST(Orders, DoublePieces) {
  piece_problems<double>(8000, 120);
}
// A chain that would begin with C begins with its own zero where beta is 0, also on the way of small plans.
TEST(Orders, SeedWithoutC) {
  for (const std::string& isa : usable_isas())
    for (const char* order : {"epilogue(c=seed) > fma", "epilogue(c=seed) > mul(start=first)"})
      for (const Values values : {Values::normal, Values::corners}) {
        check(Problem<float>{.order = order, .m = 6, .n = 7, .k = 1, .values = values}, {.threads = 1, .isa = isa});
        check(Problem<double>{.order = order, .m = 90, .n = 70, .k = 2, .values = values}, {.threads = 2, .isa = isa});
      }
}
TEST(Orders, Float) {
  random_problems<float>(1000, 250, 40, false);
}
TEST(Orders, Double) {
  random_problems<double>(2000, 150, 40, false);
}
TEST(Orders, FloatLarger) {
  random_problems<float>(3000, 25, 150, false);
}
TEST(Orders, DoubleLarger) {
  random_problems<double>(4000, 15, 150, false);
}
TEST(Orders, FloatRegions) {
  random_problems<float>(5000, 80, 40, true);
}
TEST(Orders, DoubleRegions) {
  random_problems<double>(6000, 40, 40, true);
}

}  // namespace samebits::test
