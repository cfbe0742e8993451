// SPDX-License-Identifier: Apache-2.0
// Accumulation orders as values. The language is described in docs/orders.md.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "samebits/error.h"
#include "samebits/tree.h"

namespace [[gnu::visibility("default")]] samebits {

enum class Rounding : std::uint8_t { rne, rna, rz, rz_raw };

// Rounding of A and B before anything else; Format::none leaves them as they are.
struct InputRounding {
  Format format = Format::none;
  Rounding rounding = Rounding::rne;
  friend bool operator==(const InputRounding&, const InputRounding&) = default;
};

// C <- alpha*A*B + beta*C + bias; docs/orders.md, "Epilogue", gives each combination as formulas.
struct Epilogue {
  enum class Alpha : std::uint8_t { end, block, a };
  enum class C : std::uint8_t { last, first, seed };
  Alpha alpha = Alpha::end;
  C c = C::last;
  bool fused = false;
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

struct Range {  // begin, begin + step, ... < end
  Index begin = 0, end = 0, step = 1;
  // Every row, or every column: rows= or cols= not given.
  static constexpr Range all() { return {0, std::numeric_limits<Index>::max(), 1}; }
  bool contains(Index i) const { return i >= begin && i < end && (i - begin) % step == 0; }
  friend bool operator==(const Range&, const Range&) = default;
};

struct Region;
class OrderNode;  // src/order/

class Order {
 public:
  Order();  // "fma"
  // Throws Error(syntax) with the column and what was expected.
  static Order parse(std::string_view text);
  // A regions(...) order; the last entry's ranges are ignored, it is `rest`.
  static Order with_regions(std::vector<Region> regions, Order rest);

  // parse(text()) gives an equal order.
  std::string text() const;
  // One line of plain English.
  std::string describe() const;

  bool has_regions() const;
  bool is_profile() const;
  // Profile name and key=value pairs, in the order written.
  std::string profile_name() const;
  std::vector<std::pair<std::string, std::string>> profile_keys() const;

  // The parts of a plain order (neither regions nor a profile); Error(invalid_argument) otherwise.
  InputRounding input() const;
  Epilogue epilogue() const;
  Format out() const;  // rounding of the result: none, fp16 or bf16
  // Expansion at K = k. Throws Error(invalid_argument) where the order does not fit k (an explicit tree or list of pieces).
  Tree tree(std::size_t k) const;

  // Regions as written, without `rest`; empty for a plain order. rest() of a plain order is itself.
  std::vector<Region> regions() const;
  Order rest() const;
  // The plain order of element (i, j).
  Order at(Index i, Index j) const;
  // Ranges past (rows, cols) are an Error(invalid_argument).
  void check_shape(Index rows, Index cols) const;

  friend bool operator==(const Order& x, const Order& y) { return x.text() == y.text(); }

  explicit Order(std::shared_ptr<const OrderNode> node) : node_(std::move(node)) {}
  const OrderNode& node() const { return *node_; }

 private:
  std::shared_ptr<const OrderNode> node_;
};

struct Region {
  Range rows, cols;
  Order order;
};

// Same bits for every input at this k: same input rounding, epilogue and output rounding, and equivalent trees.
bool equivalent(const Order& x, const Order& y, std::size_t k);

// One entry per stage, for `samebits orders` and docs: usage, one line of help.
struct StageHelp {
  std::string name, usage, help;
};
std::vector<StageHelp> stage_help();

}  // namespace samebits
