// SPDX-License-Identifier: Apache-2.0
// The GPU backends where there is no GPU: clear reasons; and, with a stand-in library on host memory, the calls they make.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "cuda/backends.h"
#include "simulated.h"

namespace samebits::cuda {
namespace {

const Memory host_space{[](std::size_t bytes) { return std::malloc(bytes); }, [](void* p) noexcept { std::free(p); },
                        [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); },
                        [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }, [] {}};

template <class F>
std::string reason(const F& open) {
  try {
    open();
    return "available";
  } catch (const Error& error) {
    return error.what();
  }
}

bool has_device() {
  return reason([] { require_device(); }) == "available";
}

const std::string fake = "library=" SAMEBITS_FAKE_CUBLAS;

template <class T>
void multiply_in_all_layouts(Backend& backend) {
  std::mt19937_64 random(7);
  for (bool trans_a : {false, true})
    for (bool trans_b : {false, true}) {
      const Index m = 6, n = 7, k = 5;
      Stored<T> a(trans_a ? k : m, trans_a ? m : k, Layout::padded_row), b(trans_b ? n : k, trans_b ? k : n, Layout::padded_row), c(m, n, Layout::padded_row);
      fill(a.view, random, Values::normal);
      fill(b.view, random, Values::normal);
      fill(c.view, random, Values::normal);
      Stored<T> want = c;
      BackendCall<T> call;
      call.m = m, call.n = n, call.k = k, call.trans_a = trans_a, call.trans_b = trans_b, call.alpha = 2, call.beta = T(0.5);
      call.a = a.view.data, call.b = b.view.data, call.c = c.view.data;
      call.lda = a.view.row_stride, call.ldb = b.view.row_stride, call.ldc = c.view.row_stride;
      backend.multiply(call);
      reference::gemm(T(2), trans_a ? a.in().transposed() : a.in(), trans_b ? b.in().transposed() : b.in(), T(0.5), want.view, Order());
      EXPECT_EQ(c.difference(want), "") << trans_a << trans_b;
    }
}

TEST(CudaBackends, CublasIsCalledWithSwappedOperands) {
  for (auto [mode, version] : {std::pair{"default", 130000}, {"pedantic", 130002}, {"tf32", 130003}}) {
    const auto backend = open_cublas_in("cublas(mode=" + std::string(mode) + ", workspace=4096, " + fake + ")", host_space);
    EXPECT_EQ(backend->description(), fmt::format("cuBLAS {}, mode {}, workspace 4096", version, mode));
    multiply_in_all_layouts<float>(*backend);
    multiply_in_all_layouts<double>(*backend);
  }
}

TEST(CudaBackends, CublasLtReportsItsAlgorithm) {
  for (auto [mode, compute] : {std::pair{"default", 68}, {"pedantic", 69}, {"tf32", 77}}) {
    const auto backend = open_cublaslt_in("cublaslt(mode=" + std::string(mode) + ", " + fake + ")", host_space);
    multiply_in_all_layouts<double>(*backend);
    multiply_in_all_layouts<float>(*backend);
    EXPECT_EQ(backend->description(), fmt::format("cuBLASLt 130001, mode {}, workspace 0; last algorithm: id {} tile 1 split-k 2 reduction 3 swizzle 4 option 5 stages 6",
                                                  mode, compute));
  }
}

TEST(CudaBackends, ReasonsAreClear) {
  EXPECT_NE(reason([] { open_cublas_in("cublas(library=/nowhere/libcublas.so)", host_space); }).find("/nowhere/libcublas.so: cannot open"), std::string::npos);
  EXPECT_EQ(reason([] { open_cublas_in("cublas(library=libm.so.6)", host_space); }), "the library has no cublasCreate_v2");
  setenv("FAKE_CUBLAS_STATUS", "1", 1);
  EXPECT_EQ(reason([] { open_cublas_in("cublas(" + fake + ")", host_space); }), "cublasCreate: not initialized (no driver, or no device) (status 1)");
  unsetenv("FAKE_CUBLAS_STATUS");
  EXPECT_NE(reason([] { open_cublas_in("cublas(mode=fast)", host_space); }).find("expected default, tf32 or pedantic"), std::string::npos);
  EXPECT_NE(reason([] { open_cublas_in("cublas(turbo=1)", host_space); }).find("found \"turbo\""), std::string::npos);
  EXPECT_NE(reason([] { open_cuda("cuda(fast)"); }).find("expected cuda or cuda(order=ORDER)"), std::string::npos);
}

TEST(CudaBackends, WithoutADeviceNothingIsAvailable) {
  if (has_device()) GTEST_SKIP() << "there is a device";
  for (const char* name : {"cuda", "cuda(order=mul)", "cublas", "cublaslt"}) {
    const std::string text = reason([&] { open_cuda_backend(name); });
    EXPECT_NE(text, "available") << name;
    EXPECT_GT(text.size(), 10u) << text;
  }
  EXPECT_NE(reason([] { cuda::gemm(nullptr, 1.0f, {}, {}, 0.0f, MatrixView<float>{}); }), "available");
}

}  // namespace
}  // namespace samebits::cuda
