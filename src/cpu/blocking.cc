// SPDX-License-Identifier: Apache-2.0
#include "cpu/blocking.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstring>
#include <iterator>

namespace samebits::cpu {
namespace {

constexpr std::int64_t KiB = 1024, MiB = 1024 * KiB;

// clang-format off
constexpr Blocking table[] = {
  //  cpu        k_bytes   b_bytes    a_bytes  in_place_work  skinny  stream_bytes  stream_k  thread_work  split_vectors mul_isa
  {"zen5",      16 * KiB,  3 * MiB,  64 * MiB, 256 * 256 * 256,   40,    512 * KiB,        8,  48 * 48 * 48, false,       ""},
  {"zen4",      16 * KiB,  9 * MiB,  64 * MiB, 300 * 300 * 300,   40,    512 * KiB,        8,  48 * 48 * 48, true,        "avx2"},
  {"other",      8 * KiB,  1 * MiB,  64 * MiB, 128 * 128 * 128,   40,    256 * KiB,        8,  48 * 48 * 48, false,       ""},
};
// clang-format on

const Blocking& detect() {
  std::string_view name = "other";
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  char vendor[13] = {};
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) {
    std::memcpy(vendor, &b, 4), std::memcpy(vendor + 4, &d, 4), std::memcpy(vendor + 8, &c, 4);
    __get_cpuid(1, &a, &b, &c, &d);
    const unsigned family = ((a >> 8) & 15) + ((a >> 20) & 255);
    if (std::strcmp(vendor, "AuthenticAMD") == 0 && family >= 25) {
      name = family >= 26 ? "zen5" : __builtin_cpu_supports("avx512f") ? "zen4" : "other";
    }
  }
#endif
  for (const Blocking& entry : table)
    if (entry.cpu == name) return entry;
  return table[std::size(table) - 1];
}

thread_local const Blocking* overridden = nullptr;

}  // namespace

const Blocking& blocking() {
  static const Blocking& machine = detect();
  return overridden != nullptr ? *overridden : machine;
}

void override_blocking(const Blocking* sizes) {
  overridden = sizes;
}

bool blocking_is_overridden() {
  return overridden != nullptr;
}

}  // namespace samebits::cpu
