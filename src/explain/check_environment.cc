// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cfenv>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "explain/check_suite.h"
#include "samebits/gemm.h"

namespace samebits::explain {
namespace {

std::vector<std::string> isas() {
  std::vector<std::string> list;
  for (const auto& k : kernels())
    if (k.built && k.supported && std::find(list.begin(), list.end(), k.isa) == list.end()) list.push_back(k.isa);
  return list;
}

template <class T>
Outcome rounding_mode(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
  auto x = suite.random_call(suite.call(s));
  x.run();
  const auto want = x.result();
  for (const auto& [mode, word] : {std::pair{FE_UPWARD, "upward"}, std::pair{FE_TOWARDZERO, "toward zero"}}) {
    const int before = std::fegetround();
    std::fesetround(mode);
    try {
      x.run();
    } catch (...) {
      std::fesetround(before);
      throw;
    }
    const int after = std::fegetround();
    std::fesetround(before);
    if (auto f =
            differ(s, want, x, suite.call(s), suite.call(s), "to nearest", std::string("the caller rounding ") + word)) {
      f->left.reset();
      return f;
    }
    if (after != mode) return Failure{fmt::format("{}: the caller's rounding mode is not restored", text<T>(s))};
  }
  return {};
}

template <class T>
Outcome flush_to_zero(Suite<T>& suite, const Shape& s) {
  require_in_place(suite);
#if defined(__x86_64__)
  auto x = suite.random_call(suite.call(s));
  for (Index i = 0; i < s.m; ++i)
    for (Index k = 0; k < s.k; ++k) x.a(i, k) = std::ldexp(x.a(i, k), sizeof(T) == 4 ? -130 : -1026);
  x.run();
  const auto want = x.result();
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  try {
    x.run();
  } catch (...) {
    _mm_setcsr(before);
    throw;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  if (auto f = differ(s, want, x, suite.call(s), suite.call(s), "plain", "the caller flushing subnormals to zero")) {
    f->left.reset();
    return f;
  }
  if ((after & 0x8040) != 0x8040)
    return Failure{fmt::format("{}: the caller's flush-to-zero mode is not restored", text<T>(s))};
  return {};
#else
  (void)s;
  throw NotApplicable{"x86-64 only"};
#endif
}

template <class T>
Outcome instruction_sets(Suite<T>& suite, const Shape& s) {
  if (suite.backend.name().rfind("samebits", 0) != 0)
    throw NotApplicable{"the instruction set cannot be chosen from outside"};
  auto base = suite.random_call(suite.call(s));
  base.run();
  auto name = suite.backend.name();
  if (name.find("isa=") != std::string::npos) throw NotApplicable{"one instruction set was asked for"};
  for (const auto& isa : isas()) {
    const auto other = open_backend(name == "samebits" ? fmt::format("samebits(isa={})", isa)
                                                       : fmt::format("{}, isa={})", name.substr(0, name.size() - 1), isa));
    Caller<T> x(*other, suite.call(s));
    suite.fill(x, s);
    x.run();
    if (auto f = differ(s, base.result(), x, suite.call(s), suite.call(s), "the default kernel", isa)) return f;
  }
  return {};
}

template <class T>
Outcome same_as(Suite<T>& suite, const Shape& s) {
  if (suite.options.other.empty()) throw NotApplicable{"no second backend was given"};
  const auto other = open_backend(suite.options.other);
  if (!other->supports(dtype_of<T>)) throw NotApplicable{suite.options.other + " does not have this type"};
  auto base = suite.random_call(suite.call(s));
  base.run();
  Caller<T> x(*other, suite.call(s));
  suite.fill(x, s);
  x.run();
  auto found = differ(s, base.result(), x, suite.call(s), suite.call(s), suite.backend.name(), suite.options.other);
  if (found) found->right_is_other = true;
  return found;
}

}  // namespace

template <class T>
std::vector<Clause<T>> environment_clauses() {
  return {
      {"rounding-mode", "the caller's rounding mode changes no bit", rounding_mode<T>, false},
      {"flush-to-zero", "the caller's flush-to-zero mode changes no bit", flush_to_zero<T>, false},
      {"instruction-sets", "every instruction set gives the same bits", instruction_sets<T>, true},
      {"same-as", "the second backend gives the same bits", same_as<T>, true},
  };
}

template std::vector<Clause<float>> environment_clauses();
template std::vector<Clause<double>> environment_clauses();

}  // namespace samebits::explain
