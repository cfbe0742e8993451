// SPDX-License-Identifier: Apache-2.0
// What must hold for any bytes: an order, or an Error(syntax) with a column; text and trees that agree with each other.
#pragma once

#include <string>
#include <string_view>

#include "order/cost.h"
#include "samebits/order.h"

namespace samebits::order {

// Empty, or what is wrong.
inline std::string check_text(std::string_view text) {
  Order order;
  try {
    order = Order::parse(text);
  } catch (const Error& error) {
    const bool column = error.column() >= 1 && error.column() <= text.size() + 1;
    return error.code() == Code::syntax && column ? "" : "wrong error: " + std::string(error.what());
  }
  const std::string canonical = order.text();
  if (Order::parse(canonical).text() != canonical) return "text is not canonical: " + canonical;
  order.describe();
  if (order.is_profile()) return "";
  for (std::size_t k : {0, 1, 5, 67}) {
    try {
      const Tree tree = order.at(0, 0).tree(k);
      if (tree.ks.size() != k) return "leaves are missing";
      if (tree.hash() != Order::parse(order.at(0, 0).text()).tree(k).hash())
        return "the text is another order: " + canonical;
      if (tree.text().empty()) return "no tree";
      cost(tree);
    } catch (const Error& error) {
      if (error.code() != Code::invalid_argument) return "wrong error: " + std::string(error.what());
    }
  }
  return "";
}

}  // namespace samebits::order
