// SPDX-License-Identifier: Apache-2.0
#include <samebits/gemm.h>

#include <cstdio>
#include <vector>

int main() {
  // In float, (1e8 + 1) - 1e8 is 0 in ascending order and 1 in the order 0, 2, 1.
  const std::vector<float> a = {1e8f, 1.0f, -1e8f}, b = {1, 1, 1};
  float forward = -1, other = -1;
  samebits::gemm(1.0f, samebits::row_major(a.data(), 1, 3), samebits::row_major(b.data(), 3, 1), 0.0f,
                 samebits::row_major(&forward, 1, 1), samebits::Order::parse("fma"));
  samebits::gemm(1.0f, samebits::row_major(a.data(), 1, 3), samebits::row_major(b.data(), 3, 1), 0.0f,
                 samebits::row_major(&other, 1, 1), samebits::Order::parse("tree(0 + 2 + 1) > mul"));
  std::printf("%g %g\n", forward, other);
  try {
    samebits::Order::parse("chunks(");
    return 1;
  } catch (const samebits::Error& e) {  // the type must be the library's
    if (e.code() != samebits::Code::syntax || e.column() == 0) return 1;
  }
  return forward == 0.0f && other == 1.0f ? 0 : 1;
}
