// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/specification.h"
#include "samebits/backend.h"
#include "samebits/error.h"

namespace samebits {
namespace {

std::string error_of(const std::string& specification, Code* code = nullptr) {
  try {
    open_backend(specification);
  } catch (const Error& e) {
    if (code) *code = e.code();
    return e.what();
  }
  return "";
}

TEST(Specification, TakesOptionsApart) {
  auto s = adapters::parse_specification("cblas:/lib/libfoo.so(prefix=scipy_, int=64)");
  EXPECT_EQ(s.name, "cblas");
  EXPECT_EQ(s.argument, "/lib/libfoo.so");
  EXPECT_EQ(s.option("prefix", ""), "scipy_");
  EXPECT_EQ(s.choice("int", "32|64"), "64");
  // Commas inside an order are the order's.
  s = adapters::parse_specification("samebits(order=chunks(320, balance=8) > lanes(2, fold=left, tail=chain) > fma, isa=portable)");
  EXPECT_EQ(s.option("order", ""), "chunks(320, balance=8) > lanes(2, fold=left, tail=chain) > fma");
  EXPECT_EQ(s.option("isa", ""), "portable");
  s = adapters::parse_specification("command(timeout=5):prog {a} {b} {c} --f(x=1)");
  EXPECT_EQ(s.argument, "prog {a} {b} {c} --f(x=1)");
  EXPECT_EQ(s.option("timeout", ""), "5");
}

TEST(Open, SaysWhatIsWrong) {
  Code code{};
  EXPECT_NE(error_of("nothing", &code).find("no backend is called \"nothing\""), std::string::npos);
  EXPECT_EQ(code, Code::syntax);
  EXPECT_NE(error_of("naive(speed=3)", &code).find("unknown option \"speed\""), std::string::npos);
  EXPECT_EQ(code, Code::syntax);
  EXPECT_NE(error_of("cblas:/no/such/library.so", &code).find("/no/such/library.so"), std::string::npos);
  EXPECT_EQ(code, Code::backend);
  EXPECT_NE(error_of("cblas:" SAMEBITS_EMPTY_LIBRARY, &code).find("neither cblas_sgemm nor sgemm_"), std::string::npos);
  EXPECT_EQ(code, Code::backend);
  EXPECT_NE(error_of("onednn:" SAMEBITS_EMPTY_LIBRARY, &code).find("has no symbol dnnl_sgemm"), std::string::npos);
  EXPECT_NE(error_of("onnxruntime:" SAMEBITS_EMPTY_LIBRARY, &code).find("has no symbol OrtGetApiBase"), std::string::npos);
  EXPECT_NE(error_of("onnxruntime", &code).find("needs the path"), std::string::npos);
  EXPECT_NE(error_of("samebits(order=chunks() > fma)"), "");
  EXPECT_NE(error_of("samebits(isa=mmx)"), "");
}

TEST(Open, ListsEveryBackend) {
  std::vector<std::string> names;
  for (const auto& b : backends()) {
    names.push_back(b.name);
    EXPECT_FALSE(b.detail.empty()) << b.name;
    if (!b.available) { EXPECT_EQ(b.detail.rfind("not available: ", 0), 0u) << b.detail; }
  }
  for (const char* name : {"samebits", "naive", "openblas", "onednn", "eigen", "cuda", "cublas", "cublaslt", "cblas", "onnxruntime", "command"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

// alpha, beta, transposes, leading dimensions on small integers, where every order gives the same bits.
template <class T>
void expect_product(Backend& backend) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const T beta : {T(0), T(1), T(3)}) {
        const Index m = 5, n = 7, k = 11, ldc = 9;
        BackendCall<T> x;
        x.m = m, x.n = n, x.k = k, x.trans_a = ta, x.trans_b = tb, x.alpha = 2, x.beta = beta;
        x.lda = (ta ? m : k) + 2, x.ldb = (tb ? k : n) + 1, x.ldc = ldc;
        std::vector<T> a(static_cast<std::size_t>((ta ? k : m) * x.lda), std::nan("")), b(static_cast<std::size_t>((tb ? n : k) * x.ldb), std::nan(""));
        const auto av = [](Index i, Index p) { return T((i * 3 + p) % 5 - 2); };
        const auto bv = [](Index p, Index j) { return T((p * 2 + j) % 7 - 3); };
        for (Index i = 0; i < m; ++i)
          for (Index p = 0; p < k; ++p) a[static_cast<std::size_t>(ta ? p * x.lda + i : i * x.lda + p)] = av(i, p);
        for (Index p = 0; p < k; ++p)
          for (Index j = 0; j < n; ++j) b[static_cast<std::size_t>(tb ? j * x.ldb + p : p * x.ldb + j)] = bv(p, j);
        std::vector<T> c(static_cast<std::size_t>(m * ldc), beta == 0 ? T(std::nan("")) : T(4));
        x.a = a.data(), x.b = b.data(), x.c = c.data();
        backend.multiply(x);
        for (Index i = 0; i < m; ++i)
          for (Index j = 0; j < n; ++j) {
            T want = 0;
            for (Index p = 0; p < k; ++p) want += av(i, p) * bv(p, j);
            EXPECT_EQ(c[static_cast<std::size_t>(i * ldc + j)], 2 * want + (beta == 0 ? 0 : beta * 4))
                << backend.name() << " ta " << ta << " tb " << tb << " beta " << beta << " (" << i << ", " << j << ")";
          }
      }
}

TEST(Open, EveryAvailableBackendMultiplies) {
  for (const auto& b : backends()) {
    if (!b.available || b.name == "cblas" || b.name == "onnxruntime" || b.name == "command") continue;
    std::cout << b.name << ": " << b.detail << "\n";
    const auto backend = open_backend(b.name);
    if (backend->supports(DType::f32)) expect_product<float>(*backend);
    if (backend->supports(DType::f64)) expect_product<double>(*backend);
  }
}

TEST(Open, FortranSymbolsAndBothIntegers) {
  std::unique_ptr<Backend> blas;
  try {
    blas = open_backend("openblas");
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  expect_product<float>(*open_backend("openblas(style=fortran)"));
  expect_product<double>(*open_backend("openblas(style=fortran)"));
}

// NumPy's choice of routine by shape multiplies right in each of its ways.
TEST(Open, NumpyEntriesMultiply) {
  std::unique_ptr<Backend> blas;
  try {
    blas = open_backend("openblas(entry=numpy)");
  } catch (const Error& e) {
    GTEST_SKIP() << e.what();
  }
  for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{{1, 1, 9}, {1, 6, 9}, {6, 1, 9}, {6, 6, 1}, {1, 6, 1}, {4, 5, 6}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        BackendCall<float> x;
        x.m = m, x.n = n, x.k = k, x.trans_a = ta, x.trans_b = tb, x.lda = ta ? m : k, x.ldb = tb ? k : n, x.ldc = n;
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n)), c(static_cast<std::size_t>(m * n), NAN);
        for (Index i = 0; i < m; ++i)
          for (Index p = 0; p < k; ++p) a[static_cast<std::size_t>(ta ? p * m + i : i * k + p)] = float(i + 2 * p);
        for (Index p = 0; p < k; ++p)
          for (Index j = 0; j < n; ++j) b[static_cast<std::size_t>(tb ? j * k + p : p * n + j)] = float(p - 3 * j);
        x.a = a.data(), x.b = b.data(), x.c = c.data();
        blas->multiply(x);
        for (Index i = 0; i < m; ++i)
          for (Index j = 0; j < n; ++j) {
            float want = 0;
            for (Index p = 0; p < k; ++p) want += float(i + 2 * p) * float(p - 3 * j);
            EXPECT_EQ(c[static_cast<std::size_t>(i * n + j)], want) << m << " " << n << " " << k << " " << ta << tb;
          }
      }
  BackendCall<float> x;
  x.m = 2, x.n = 2, x.k = 2;
  EXPECT_THROW(open_backend("openblas(entry=dot)")->multiply(x), Error);
}

}  // namespace
}  // namespace samebits
