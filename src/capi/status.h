// SPDX-License-Identifier: Apache-2.0
// Turns exceptions into status codes and a message that belongs to the thread.
#pragma once

#include <exception>
#include <new>

#include "samebits/error.h"
#include "samebits/samebits.h"

namespace samebits::capi {

samebits_status fail(samebits_status status, const char* message, std::size_t column = 0) noexcept;

// Runs f; what it throws becomes the status.
template <class F>
samebits_status guard(F&& f) noexcept {
  try {
    f();
    return SAMEBITS_OK;
  } catch (const Error& e) {
    return fail(static_cast<samebits_status>(e.code()), e.what(), e.column());
  } catch (const std::bad_alloc&) {
    return fail(SAMEBITS_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return fail(SAMEBITS_INTERNAL, e.what());
  } catch (...) {
    return fail(SAMEBITS_INTERNAL, "unknown exception");
  }
}

inline void require(bool condition, const char* message) {
  if (!condition) throw Error(Code::invalid_argument, message);
}

}  // namespace samebits::capi
