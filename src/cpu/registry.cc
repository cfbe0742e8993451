// SPDX-License-Identifier: Apache-2.0
#include "cpu/registry.h"

#include <fmt/format.h>

#include <cstdlib>

#include "samebits/error.h"

namespace samebits::cpu {
namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

bool has_avx512() {
#if defined(__x86_64__)
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

std::span<const Isa> isas() {
  static const Isa list[] = {
      {"portable", {4, 8}, {4, 8}, true, true},
      {"avx2", {6, 16}, {6, 8}, avx2_kernels<float>() != nullptr, has_avx2()},
      {"avx512", {14, 32}, {14, 16}, avx512_kernels<float>() != nullptr, has_avx512()},
  };
  return list;
}

std::string resolve_isa(const std::string& requested) {
  std::string name = requested;
  if (name.empty()) {
    const char* environment = std::getenv("SAMEBITS_ISA");
    if (environment != nullptr) name = environment;
  }
  if (name.empty() || name == "reference") return name;
  std::string usable = "reference";
  for (const Isa& isa : isas()) {
    if (!isa.built || !isa.supported) continue;
    if (isa.name == name) return name;
    usable += fmt::format(", {}", isa.name);
  }
  throw Error(Code::unsupported, fmt::format("instruction set \"{}\"{}: use one of {}", name,
                                             requested.empty() ? " (SAMEBITS_ISA)" : "", usable));
}

template <class T>
const KernelSet<T>& kernel_set(std::string_view isa) {
  const auto usable = [&](std::string_view name) {
    for (const Isa& i : isas())
      if (i.name == name) return (isa.empty() || isa == name) && i.built && i.supported;
    return false;
  };
  if (usable("avx512")) return *avx512_kernels<T>();
  if (usable("avx2")) return *avx2_kernels<T>();
  return *portable_kernels<T>();
}
template const KernelSet<float>& kernel_set(std::string_view);
template const KernelSet<double>& kernel_set(std::string_view);

}  // namespace samebits::cpu
