// SPDX-License-Identifier: Apache-2.0
// contraction off|fast: does a*b + c round twice (off) or once (fast)? Returns 0 when it does what the argument says.
#include <cstdio>
#include <cstring>

// Not inlined: the compiler must not know the values.
[[gnu::noinline]] static float multiply_add(float a, float b, float c) { return a * b + c; }

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (!__builtin_cpu_supports("fma")) {
    std::puts("skipped: this CPU has no FMA");
    return 77;
  }
  // (1 + 2^-23)^2 rounds to 1 + 2^-22; the exact product has 2^-46 more.
  volatile float x = 1.0f + 0x1p-23f, y = -(1.0f + 0x1p-22f);
  const bool once = multiply_add(x, x, y) != 0.0f;
  std::printf("a*b + c is rounded %s\n", once ? "once" : "twice");
  return once == (std::strcmp(argv[1], "fast") == 0) ? 0 : 1;
}
