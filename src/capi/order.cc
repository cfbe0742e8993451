// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/objects.h"
#include "capi/status.h"

using namespace samebits;
using namespace samebits::capi;

void samebits::capi::copy_text(const std::string& text, char* buffer, std::size_t size, std::size_t* length) {
  require(buffer || size == 0, "buffer is NULL");
  if (size > 0) buffer[text.copy(buffer, size - 1)] = '\0';
  if (length) *length = text.size();
}

extern "C" {

samebits_status samebits_order_parse(const char* text, samebits_order** order) {
  return guard([&] {
    require(text && order, "text and order must not be NULL");
    *order = new samebits_order{Order::parse(text)};
  });
}

void samebits_order_free(samebits_order* order) { delete order; }

samebits_status samebits_order_text(const samebits_order* order, char* buffer, size_t size, size_t* length) {
  return guard([&] { copy_text(value_of(order).text(), buffer, size, length); });
}

samebits_status samebits_order_describe(const samebits_order* order, char* buffer, size_t size, size_t* length) {
  return guard([&] { copy_text(value_of(order).describe(), buffer, size, length); });
}

samebits_status samebits_order_tree(const samebits_order* order, size_t k, char* buffer, size_t size, size_t* length) {
  return guard([&] { copy_text(value_of(order).tree(k).text(), buffer, size, length); });
}

samebits_status samebits_order_equivalent(const samebits_order* x, const samebits_order* y, size_t k, int* result) {
  return guard([&] {
    require(result, "result is NULL");
    *result = equivalent(value_of(x), value_of(y), k);
  });
}

}  // extern "C"
