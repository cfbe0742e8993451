// SPDX-License-Identifier: Apache-2.0
// What the opaque types of samebits.h are.
#pragma once

#include <string>

#include "samebits/gemm.h"
#include "samebits/order.h"
#include "samebits/samebits.h"

struct samebits_order {
  samebits::Order value;
};
struct samebits_context {
  samebits::Context value;
};
struct samebits_splan {
  samebits::Plan<float> value;
};
struct samebits_dplan {
  samebits::Plan<double> value;
};

namespace samebits::capi {

inline Order value_of(const samebits_order* order) { return order ? order->value : Order(); }
inline Context value_of(const samebits_context* context) { return context ? context->value : Context(); }

// The text functions' convention: as much as fits, and the whole length.
void copy_text(const std::string& text, char* buffer, std::size_t size, std::size_t* length);

}  // namespace samebits::capi
