// SPDX-License-Identifier: Apache-2.0
#include <samebits/gemm.h>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<float> a(6 * 500, 0.1f), b(500 * 7, 0.3f);
  std::vector<float> c(6 * 7);
  const auto order = samebits::Order::parse("chunks(256) > fma");  // as ONNX Runtime adds on the CPU, constant B
  samebits::gemm(1.0f, samebits::row_major(a.data(), 6, 500), samebits::row_major(b.data(), 500, 7), 0.0f,
                 samebits::row_major(c.data(), 6, 7), order);
  std::printf("%a\n", c[0]);  // the same bits on every CPU, with every number of threads
}
