// SPDX-License-Identifier: Apache-2.0
#include "capi/status.h"

#include <cstring>

namespace {
// Fixed storage: reporting an error must not fail.
thread_local char message_buffer[1024];
thread_local std::size_t message_column;
}  // namespace

namespace samebits::capi {

samebits_status fail(samebits_status status, const char* message, std::size_t column) noexcept {
  std::strncpy(message_buffer, message, sizeof message_buffer - 1);
  message_column = column;
  return status;
}

}  // namespace samebits::capi

extern "C" {

const char* samebits_version(void) { return SAMEBITS_VERSION; }

const char* samebits_status_name(samebits_status status) {
  switch (status) {
    case SAMEBITS_OK: return "ok";
    case SAMEBITS_INVALID_ARGUMENT: return "invalid argument";
    case SAMEBITS_SYNTAX: return "syntax error";
    case SAMEBITS_UNSUPPORTED: return "unsupported";
    case SAMEBITS_IO: return "input/output error";
    case SAMEBITS_BACKEND: return "backend failed";
    case SAMEBITS_OUT_OF_MEMORY: return "out of memory";
    case SAMEBITS_INTERNAL: return "internal error";
  }
  return "unknown status";
}

const char* samebits_error_message(void) { return message_buffer; }
size_t samebits_error_column(void) { return message_column; }

}  // extern "C"
