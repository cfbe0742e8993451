// SPDX-License-Identifier: Apache-2.0
// What must not change a bit, as properties: each test computes a product in two ways and compares.
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <thread>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "cpu/blocking.h"
#include "cpu/problem.h"

namespace samebits::test {
namespace {

const char* const orders[] = {"fma",
                              "mul",
                              "chunks(32) > fma",
                              "lanes(16, fold=halves) > fma",
                              "pairwise(8) > mul",
                              "reverse > pairwise(3) > fma",
                              "f64 > chunks(20) > fma",
                              "bf16(rne) > split(3) > fma"};
constexpr Index shapes[][3] = {{1, 70, 90},   {70, 1, 90},  {6, 7, 5},   {33, 65, 129},
                               {90, 50, 200}, {5, 300, 64}, {300, 5, 64}};

template <class T>
struct Matrices {
  std::vector<T> a, b;
  Index m, n, k;
  Matrices(Index m_, Index n_, Index k_) : a(m_ * k_), b(k_ * n_), m(m_), n(n_), k(k_) {
    Random random(static_cast<std::uint64_t>(m * 10007 + n * 101 + k));
    // Subnormals among them: the tests of the environment would not notice its change otherwise.
    const auto value = [&] {
      return random.chance(10) ? random.value<T>(Values::corners) : random.value<T>(Values::normal);
    };
    for (T& x : a) x = value();
    for (T& x : b) x = value();
  }
  MatrixView<const T> a_view() const { return row_major(a.data(), m, k); }
  MatrixView<const T> b_view() const { return row_major(b.data(), k, n); }
};

template <class T>
std::vector<T> multiply(const std::string& order, MatrixView<const T> a, MatrixView<const T> b,
                        const Context& context = {}) {
  std::vector<T> c(a.rows * b.cols, std::numeric_limits<T>::quiet_NaN());
  gemm(T(1), a, b, T(0), row_major(c.data(), a.rows, b.cols), Order::parse(order), context);
  return c;
}

template <class T>
void expect_same(std::vector<T> got, std::vector<T> expected, Index rows, const std::string& what) {
  ASSERT_EQ(got.size(), expected.size());
  const Index cols = static_cast<Index>(got.size()) / rows;
  EXPECT_EQ(differences(row_major(got.data(), rows, cols), row_major(expected.data(), rows, cols)), "") << what;
}

// f(matrices, order, the expected result) for every shape, order and type.
template <class F>
void for_all(F&& f) {
  const auto with = [&]<class T>(T) {
    for (const auto& [m, n, k] : shapes)
      for (const char* order : orders) {
        if (sizeof(T) == 8 && std::string_view(order).starts_with("f64")) continue;
        const Matrices<T> x(m, n, k);
        f(x, std::string(order), multiply(order, x.a_view(), x.b_view()));
      }
  };
  with(float{});
  with(double{});
}

TEST(Invariance, RunToRun) {
  for_all([](const auto& x, const std::string& order, const auto& expected) {
    expect_same(multiply(order, x.a_view(), x.b_view()), expected, x.m, order);
  });
}

TEST(Invariance, Threads) {
  cpu::Blocking sizes = cpu::blocking();
  sizes.thread_work = 1;  // threads even for products that are not worth them
  cpu::override_blocking(&sizes);
  for_all([](const auto& x, const std::string& order, const auto& expected) {
    for (int threads = 1; threads <= 4; ++threads)
      expect_same(multiply(order, x.a_view(), x.b_view(), {.threads = threads}), expected, x.m, order);
  });
  cpu::override_blocking(nullptr);
}

TEST(Invariance, InstructionSets) {
  for_all([](const auto& x, const std::string& order, const auto& expected) {
    for (const std::string& isa : usable_isas())
      expect_same(multiply(order, x.a_view(), x.b_view(), {.isa = isa}), expected, x.m, order + " on " + isa);
  });
}

TEST(Invariance, RowsAndColumnsAlone) {
  for_all([](const auto& x, const std::string& order, const auto& expected) {
    Random random(7);
    for (int times = 0; times < 3; ++times) {
      const Index i = random.below(x.m), rows = random.between(1, x.m - i), j = random.below(x.n),
                  cols = random.between(1, x.n - j);
      auto a = x.a_view(), b = x.b_view();
      a.data += i * x.k, a.rows = rows;
      b.data += j, b.cols = cols;
      auto part = expected;
      part.clear();
      for (Index r = i; r < i + rows; ++r) part.insert(part.end(), &expected[r * x.n + j], &expected[r * x.n + j] + cols);
      expect_same(multiply(order, a, b), part, rows, order);
    }
  });
}

TEST(Invariance, LeadingDimensionAndAlignment) {
  for_all([]<class T>(const Matrices<T>& x, const std::string& order, const std::vector<T>& expected) {
    for (Index offset = 0; offset<Index(64 / sizeof(T)); offset += x.m> 50 ? 5 : 1) {
      const Index lda = x.k + offset % 5, ldb = x.n + offset % 7, ldc = x.n + offset % 3;
      std::vector<T> a(x.m * lda + 64, canary<T>), b(x.k * ldb + 64, canary<T>), c(x.m * ldc + 64, canary<T>);
      for (Index i = 0; i < x.m; ++i) std::copy_n(&x.a[i * x.k], x.k, &a[offset + i * lda]);
      for (Index i = 0; i < x.k; ++i) std::copy_n(&x.b[i * x.n], x.n, &b[(offset * 3) % 16 + i * ldb]);
      T* at = &c[(offset * 5) % 16];
      gemm(T(1), row_major<const T>(&a[offset], x.m, x.k, lda), row_major<const T>(&b[(offset * 3) % 16], x.k, x.n, ldb),
           T(0), row_major(at, x.m, x.n, ldc), Order::parse(order));
      std::vector<T> got;
      for (Index i = 0; i < x.m; ++i) got.insert(got.end(), at + i * ldc, at + i * ldc + x.n);
      expect_same(got, expected, x.m, order);
    }
  });
}

TEST(Invariance, TransposedStorage) {
  for_all([]<class T>(const Matrices<T>& x, const std::string& order, const std::vector<T>& expected) {
    std::vector<T> a(x.a.size()), b(x.b.size()), c(expected.size());
    for (Index i = 0; i < x.m; ++i)
      for (Index k = 0; k < x.k; ++k) a[k * x.m + i] = x.a[i * x.k + k];
    for (Index k = 0; k < x.k; ++k)
      for (Index j = 0; j < x.n; ++j) b[j * x.k + k] = x.b[k * x.n + j];
    const auto a_view = col_major<const T>(a.data(), x.m, x.k), b_view = col_major<const T>(b.data(), x.k, x.n);
    expect_same(multiply(order, a_view, x.b_view()), expected, x.m, order);
    expect_same(multiply(order, x.a_view(), b_view), expected, x.m, order);
    gemm(T(1), a_view, b_view, T(0), col_major(c.data(), x.m, x.n), Order::parse(order));
    std::vector<T> got;
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) got.push_back(c[j * x.m + i]);
    expect_same(got, expected, x.m, order);
  });
}

TEST(Invariance, TileSizes) {
  for_all([](const auto& x, const std::string& order, const auto& expected) {
    Random random(11);
    for (int times = 0; times < 4; ++times) {
      const cpu::Blocking sizes = {"test",
                                   random.between(1, 500),
                                   random.between(1, 5000),
                                   random.between(1, 5000),
                                   random.of<Index>({0, 1 << 30}),
                                   random.of<Index>({0, 40}),
                                   random.of<Index>({0, 1 << 30}),
                                   random.between(1, 30),
                                   1,
                                   times % 2 == 0,
                                   ""};
      cpu::override_blocking(&sizes);
      expect_same(multiply(order, x.a_view(), x.b_view()), expected, x.m, order);
      cpu::override_blocking(nullptr);
    }
  });
}

TEST(Invariance, ConcurrentCallsOfOnePlan) {
  const Matrices<float> x(80, 90, 100);
  const Plan<float> plan(Order::parse("pairwise(8) > fma"), x.m, x.n, x.k, {.threads = 2});
  const std::vector<float> expected = multiply("pairwise(8) > fma", x.a_view(), x.b_view());
  std::vector<std::vector<float>> results(4, std::vector<float>(expected.size()));
  std::vector<std::thread> callers;
  for (std::vector<float>& c : results)
    callers.emplace_back([&] {
      for (int times = 0; times < 30; ++times) {
        std::ranges::fill(c, std::numeric_limits<float>::quiet_NaN());
        plan.run(1, x.a_view(), x.b_view(), 0, row_major(c.data(), x.m, x.n));
      }
    });
  for (std::thread& t : callers) t.join();
  for (const std::vector<float>& c : results) expect_same(c, expected, x.m, "concurrent");
}

TEST(Invariance, CallersFloatingPointEnvironment) {
#if defined(__SSE2__)
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x40, upward = 0x4000;
  for (const unsigned set : {flush_to_zero, denormals_are_zero, upward, flush_to_zero | denormals_are_zero | upward})
    for_all([&](const auto& x, const std::string& order, const auto& expected) {
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | set);
      const auto got = multiply(order, x.a_view(), x.b_view(), {.threads = 2});
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      EXPECT_EQ(after & 0xffc0, (before | set) & 0xffc0) << "not restored";
      expect_same(got, expected, x.m, order);
    });
  // Threads inherit the state of the one that starts them.
  const Matrices<float> x(90, 80, 70);
  const auto expected = multiply("fma", x.a_view(), x.b_view());
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | flush_to_zero | upward);
  std::vector<float> got;
  std::thread([&] { got = multiply("fma", x.a_view(), x.b_view(), {.threads = 4}); }).join();
  _mm_setcsr(before);
  expect_same(got, expected, x.m, "from a new thread");
#else
  GTEST_SKIP() << "only written for x86";
#endif
}

TEST(Invariance, AfterFork) {
  const Matrices<float> x(100, 100, 100);
  const auto expected = multiply("fma", x.a_view(), x.b_view(), {.threads = 2});  // the pool has a thread
  const pid_t child = fork();
  if (child == 0) {
    const auto got = multiply("fma", x.a_view(), x.b_view(), {.threads = 2});
    bool equal = true;
    for (std::size_t i = 0; i < got.size(); ++i) equal = equal && same(got[i], expected[i]);
    _exit(equal ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace samebits::test
