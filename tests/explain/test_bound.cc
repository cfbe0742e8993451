// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "explain/bound.h"
#include "explain/compare.h"

namespace samebits::explain {
namespace {

template <class T>
struct Data {
  std::vector<T> a, b;
  reference::Scale<T> scale;
  Element<T> element() const { return {a.data(), b.data(), a.size(), scale}; }
};

template <class T>
Data<T> data(std::mt19937& random, std::size_t k, int exponents = 1) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::uniform_int_distribution<int> exponent(0, exponents - 1);
  Data<T> d{std::vector<T>(k), std::vector<T>(k), {}};
  for (auto* x : {&d.a, &d.b})
    for (T& v : *x) v = std::ldexp(uniform(random), exponent(random));
  return d;
}

template <class T>
T value(const Order& order, const Data<T>& d) {
  std::vector<T> a(d.a.size()), b(a.size());
  reference::gather(order.input(), d.a.data(), 1, std::ssize(a), a.data());
  reference::gather(order.input(), d.b.data(), 1, std::ssize(b), b.data());
  return reference::evaluate(order.tree(a.size()), order.epilogue(), order.out(), a.data(), b.data(), d.scale);
}

TEST(Bound, TheErrorIsExact) {
  Data<float> d{{1, 0x1p-60f}, {1, 1}, {}};
  EXPECT_EQ(exact_value(d.element()), 1);
  EXPECT_EQ(exact_error(d.element(), 1.0f), -0x1p-60);
  d.scale = {.alpha = 3, .beta = 0.5f, .c = 4, .bias = 7, .has_bias = true};
  EXPECT_EQ(exact_value(d.element()), 12);
  EXPECT_EQ(exact_error(d.element(), 12.0f), -3 * 0x1p-60);
  // alpha*a needs more than 53 bits.
  const double x = 1 + 0x1p-52;
  Data<double> e{{x}, {1}, {}};
  e.scale.alpha = x;
  EXPECT_EQ(exact_error(e.element(), 1 + 0x1p-51), -0x1p-104);
}

// No order may leave its bound, in any precision, with any epilogue.
template <class T>
void every_order_is_inside(unsigned seed) {
  std::mt19937 random(seed);
  const char* epilogues[] = {"", "epilogue(alpha=block, c=first, fused) > ", "epilogue(fused) > ",
                             "epilogue(alpha=a, c=seed) > "};
  const char* orders[] = {"fma",           "mul",  "chunks(8) > fma", "lanes(8, fold=halves) > fma", "pairwise(1) > mul",
                          "reverse > mul", "exact"};
  double greatest = 0;
  for (int i = 0; i < 200; ++i) {
    auto d = data<T>(random, 1 + i % 40, i % 3 ? 1 : 60);
    if (i % 2) d.scale = {.alpha = T(0.7), .beta = T(-1.3), .c = T(100), .bias = T(0.1), .has_bias = true};
    for (const char* epilogue : epilogues)
      for (const char* name : orders) {
        if (std::string(name) == "exact" && std::string(epilogue).find("seed") != std::string::npos) continue;
        const Order order = Order::parse(std::string(epilogue) + name);
        const T v = value(order, d);
        const double bound = error_bound(order, d.element()), error = std::fabs(exact_error(d.element(), v));
        ASSERT_LE(error, bound) << order.text() << ", case " << i;
        ASSERT_LE(error, error_bound(sizeof(T) == 8 ? Precision::f64 : Precision::f32, d.element())) << order.text();
        ASSERT_EQ(size_of_error(d.element(), v), sizeof(T) == 8 ? Precision::f64 : Precision::f32);
        greatest = std::max(greatest, error / bound);
      }
  }
  EXPECT_GT(greatest, 0.2);  // the bound is not idle
}
TEST(Bound, EveryFloatOrderIsInside) {
  every_order_is_inside<float>(1);
}
TEST(Bound, EveryDoubleOrderIsInside) {
  every_order_is_inside<double>(2);
}

TEST(Bound, RoundedInputsHaveTheirOwnBound) {
  std::mt19937 random(3);
  const struct {
    const char* order;
    Precision precision;
  } cases[] = {{"tf32(rna) > fma", Precision::tf32},      {"tf32(rz) > fma", Precision::tf32},
               {"tf32(rz) > mma(4,24)", Precision::tf32}, {"tf32(rz) > mma(8,25)", Precision::tf32},
               {"bf16(rne) > fma", Precision::bf16},      {"bf16(rne) > mma(8,24)", Precision::bf16},
               {"fp16(rne) > mma(4,23)", Precision::fp16}};
  for (const auto& c : cases) {
    const Order order = Order::parse(c.order);
    int outside_f32 = 0;
    for (int i = 0; i < 300; ++i) {
      const auto d = data<float>(random, 1 + i % 64, i % 3 ? 1 : 12);
      const float v = value(order, d);
      const double error = std::fabs(exact_error(d.element(), v));
      ASSERT_LE(error, error_bound(order, d.element())) << c.order;
      ASSERT_TRUE(within(c.precision, d.element(), v)) << c.order;
      outside_f32 += !within(Precision::f32, d.element(), v);
    }
    EXPECT_GT(outside_f32, 100) << c.order;
  }
}

// Tensor cores lose the whole of small terms: the bound must know.
TEST(Bound, TruncationOfTensorCores) {
  const Order order = Order::parse("tf32(rna) > mma(4,24)");
  Data<float> d{std::vector<float>(256, 0x1p-26f), std::vector<float>(256, 1), {}};
  d.a[0] = 1;
  const float v = value(order, d);
  EXPECT_EQ(v, 1);
  EXPECT_LE(std::fabs(exact_error(d.element(), v)), error_bound(order, d.element()));
  EXPECT_LT(error_bound(order, d.element()), 0x1p-9);  // of which 2^-10 is for rounding the inputs
}

TEST(Bound, ADroppedProductAndAWrongElementAreOutside) {
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    const auto d = data<float>(random, 64);
    auto dropped = d;
    dropped.a.pop_back();
    dropped.b.pop_back();
    const float v = value(Order{}, dropped);
    if (std::fabs(d.a.back() * d.b.back()) < 0.2) continue;
    EXPECT_FALSE(size_of_error(d.element(), v));
    EXPECT_FALSE(size_of_error(d.element(), value(Order{}, d) + 1));
  }
}

TEST(Bound, UnderflowIsAllowedFor) {
  Data<float> d{std::vector<float>(20, 0x1p-80f), std::vector<float>(20, 0x1.8p-70f), {}};
  const float v = value(Order::parse("mul"), d);
  EXPECT_GT(std::fabs(exact_error(d.element(), v)), 0x1p-148);
  EXPECT_TRUE(within(Precision::f32, d.element(), v));
}

TEST(Bound, SpecialValues) {
  const float inf = INFINITY, nan = NAN;
  Data<float> d{{inf, 1}, {1, 1}, {}};
  EXPECT_TRUE(within(Precision::f32, d.element(), inf));
  EXPECT_FALSE(within(Precision::f32, d.element(), -inf));
  EXPECT_FALSE(within(Precision::f32, d.element(), 1.0f));
  d.a[0] = nan;
  EXPECT_TRUE(within(Precision::f32, d.element(), nan));
  EXPECT_FALSE(within(Precision::fp16, d.element(), 0.0f));
  d.a[0] = 2;
  EXPECT_FALSE(size_of_error(d.element(), nan));
  EXPECT_FALSE(size_of_error(d.element(), inf));
  EXPECT_EQ(size_of_error(d.element(), 3.0f), Precision::f32);
  // Where a sum can leave the range, an infinity may be right.
  Data<float> big{{0x1p127f, -0x1p127f}, {2, 2}, {}};
  EXPECT_TRUE(within(Precision::f32, big.element(), inf));
  EXPECT_TRUE(within(Precision::f32, big.element(), nan));
}

TEST(Bound, AWholeMatrix) {
  std::mt19937 random(5);
  const Index m = 9, n = 7, k = 33;
  const auto a = data<float>(random, m * k).a, b = data<float>(random, k * n).a;
  const auto av = row_major(a.data(), m, k);
  const auto bv = row_major(b.data(), k, n);
  std::vector<float> c(m * n);
  const auto cv = row_major<const float>(c.data(), m, n);
  reference::gemm(1.0f, av, bv, 0.0f, row_major(c.data(), m, n), Order::parse("lanes(4) > fma"));
  EXPECT_TRUE(check_bound<float>(Precision::f32, av, bv, cv).inside());
  reference::gemm(1.0f, av, bv, 0.0f, row_major(c.data(), m, n), Order::parse("tf32(rna) > fma"));
  const BoundReport f32 = check_bound<float>(Precision::f32, av, bv, cv);
  EXPECT_GT(f32.outside, m * n / 2);
  EXPECT_GT(f32.worst_ratio, 1);
  EXPECT_TRUE(check_bound<float>(Precision::tf32, av, bv, cv).inside());
  c[3 * n + 2] += 1;
  const BoundReport one = check_bound<float>(Precision::tf32, av, bv, cv);
  EXPECT_EQ(one.outside, 1);
  EXPECT_EQ(one.worst_row, 3);
  EXPECT_EQ(one.worst_col, 2);
  c[5 * n + 6] = NAN;
  EXPECT_TRUE(std::isnan(check_bound<float>(Precision::tf32, av, bv, cv).worst_ratio));
}

// Each element judged by itself and in the matrix, where a quick estimate may answer.
TEST(Bound, TheQuickEstimateNeverDisagrees) {
  std::mt19937 random(6);
  for (int i = 0; i < 500; ++i) {
    auto d = data<double>(random, 1 + i % 30, 40);
    const Element<double> e = d.element();
    const double limit = error_bound(Precision::f64, e), exact = exact_value(e);
    for (const double factor : {0.5, 0.999999, 1.000001, 2.0})
      for (const double sign : {-1.0, 1.0}) {
        const double v = exact + sign * factor * limit;
        EXPECT_EQ(within(Precision::f64, e, v), std::fabs(exact_error(e, v)) <= limit);
      }
  }
}

}  // namespace
}  // namespace samebits::explain
