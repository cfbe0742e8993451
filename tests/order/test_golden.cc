// SPDX-License-Identifier: Apache-2.0
// The tables of docs/orders.md: each order of a library, expanded at three K, against the literal tree.
#include <gtest/gtest.h>

#include <fstream>

#include "samebits/order.h"

using namespace samebits;

namespace {

// The `code` cells of a line.
std::vector<std::string> code(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = line.find("| `"); at != std::string::npos; at = line.find("| `", at)) {
    const std::size_t begin = at + 3, end = line.find('`', begin);
    at = end;
    if (line.compare(end, 3, "` |") == 0) cells.push_back(line.substr(begin, end - begin));
  }
  return cells;
}

TEST(Golden, TreesOfLibraries) {
  std::ifstream file(SAMEBITS_DOCS "/orders.md");
  ASSERT_TRUE(file) << SAMEBITS_DOCS "/orders.md";
  std::string line;
  while (std::getline(file, line) && line != "## Orders of libraries") {
  }
  int orders = 0;
  while (std::getline(file, line) && line != "### What cannot be written") {
    if (!line.starts_with("| ") || line.starts_with("| what")) continue;
    auto cells = code(line);
    if (cells.size() == 5) cells.erase(cells.begin());  // a name in code
    ASSERT_EQ(cells.size(), 4u) << line;
    const Order order = Order::parse(cells[0]);
    EXPECT_EQ(order.text(), cells[0]);
    for (int i = 1; i <= 3; ++i) {
      const std::size_t colon = cells[i].find(": ");
      const std::size_t k = std::stoul(cells[i].substr(0, colon));
      EXPECT_EQ(order.tree(k).text(), cells[i].substr(colon + 2)) << order.text() << ", K = " << k;
    }
    ++orders;
  }
  EXPECT_EQ(orders, 99);
}

}  // namespace
