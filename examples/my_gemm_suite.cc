// SPDX-License-Identifier: Apache-2.0
// The determinism suite on a gemm of your own. A plain loop follows its caller's floating-point environment, so two clauses are
// not promised; the other twenty-four are GoogleTests.
#include <samebits/testing.h>

static void my_gemm(const samebits::BackendCall<float>& x) {
  for (samebits::Index i = 0; i < x.m; ++i)
    for (samebits::Index j = 0; j < x.n; ++j) {
      float sum = 0;
      for (samebits::Index k = 0; k < x.k && x.alpha != 0; ++k)
        sum += (x.trans_a ? x.a[k * x.lda + i] : x.a[i * x.lda + k]) * (x.trans_b ? x.b[j * x.ldb + k] : x.b[k * x.ldb + j]);
      float& c = x.c[i * x.ldc + j];
      c = x.beta == 0 ? x.alpha * sum : x.alpha * sum + x.beta * c;
    }
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  samebits::CheckOptions options;
  options.except = {"rounding-mode", "flush-to-zero"};
  samebits::testing::add_suite("MyGemm", [] { return samebits::make_backend("my_gemm", my_gemm); }, options);
  return RUN_ALL_TESTS();
}
