// SPDX-License-Identifier: Apache-2.0
// Round to nearest, subnormals kept, exceptions masked, while an object of this type lives; then the caller's state again.
// Every entry point and every worker thread holds one: a host program may have set something else.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#else
#include <cfenv>
#endif

namespace samebits {

class FloatEnvironment {
 public:
#if defined(__SSE2__)
  // Most callers have these settings already; writing the register costs as much as a small product.
  FloatEnvironment() : saved_(_mm_getcsr()), changed_((saved_ & ~exception_flags) != standard) {
    if (changed_) set(standard);
  }
  ~FloatEnvironment() {
    if (changed_) set(saved_);
  }
#else
  FloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() {
    std::fesetenv(&saved_);
  }
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__SSE2__)
  // The barriers keep loads, and so the arithmetic on what they load, on their side of the change.
  static void set(unsigned csr) {
    asm volatile("" ::: "memory");
    _mm_setcsr(csr);
    asm volatile("" ::: "memory");
  }
  static constexpr unsigned exception_flags = 0x3f, standard = 0x1f80;
  unsigned saved_;
  bool changed_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace samebits
