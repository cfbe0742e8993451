// SPDX-License-Identifier: Apache-2.0
// A stage of the order language: one stage_NAME.cc each, which holds its words, its tree, its printing and its help. The
// build collects those files (CMakeLists.txt), so a new stage touches nothing else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "order/scan.h"
#include "samebits/order.h"

namespace samebits::order {

class Builder;
class Stage;
using Ks = std::span<const std::uint32_t>;
using Stages = std::span<const std::shared_ptr<const Stage>>;

// Bounds on what text may ask for, checked before anything is allocated.
inline constexpr std::uint64_t max_leaves = std::uint64_t{1} << 24;  // of an explicit tree or list
inline constexpr std::uint64_t max_k = std::uint64_t{1} << 31;
inline constexpr std::uint64_t max_lanes = 65536;

// What holds for the whole order.
struct Settings {
  InputRounding input;
  Epilogue epilogue;
  Format out = Format::none;
};

// What stands to the left of a stage when it is parsed.
struct Left {
  Settings settings;
  bool wide = false;  // f64 has been seen
  const Stage* last = nullptr;
};

class Stage {
 public:
  virtual ~Stage() = default;
  // Canonical; empty: everything is at its default, nothing is printed.
  virtual std::string text() const = 0;
  // A phrase: "chunks of 256, added left to right".
  virtual std::string describe() const = 0;
  // A setting puts itself into the settings.
  virtual void apply(Settings&) const {}
  // A cut or leaf stage: a tree over ks (not empty); its root. `rest` is what stands to the right.
  virtual std::uint32_t build(Builder& builder, Ks ks, Stages rest) const;
  // Whether its pieces are what epilogue(alpha=block, c=first) refers to.
  virtual bool has_pieces(Stages) const { return false; }
  // tree(...) only: the same with the op of its bare leaves, once the leaf op has been read.
  virtual bool is_tree() const { return false; }
  virtual std::shared_ptr<const Stage> with_op(Op) const { return nullptr; }
};

// The last stage of a pipeline.
class Leaf : public Stage {
 public:
  // Joins ks one by one to the accumulator of `node`.
  virtual void join(Builder& builder, Node& node, Ks ks, std::optional<Op> op = {}) const = 0;
  // The op of a bare leaf of tree(...).
  virtual Op op() const = 0;
  // Whether the accumulator of a chain starts from -0.
  virtual bool start_negative() const { return false; }
  std::uint32_t build(Builder& builder, Ks ks, Stages rest) const override;
};

inline const Leaf& leaf_of(Stages rest) {
  return static_cast<const Leaf&>(*rest.back());
}

enum class Rank : std::uint8_t { out, epilogue, input, cut, leaf };  // the order in which stages are printed

struct StageWord {
  std::string_view name;
  Rank rank;
  // Reads what follows the name.
  std::shared_ptr<const Stage> (*parse)(Scanner& in, const Left& left);
  std::string_view usage, help;
};

const StageWord* find_stage(std::string_view name);
std::span<const StageWord> stage_words();  // by rank, then name

// Grows one tree.
class Builder {
 public:
  Settings settings;
  bool wide = false;       // what is built now is summed in double
  bool reordered = false;  // some fold took its parts in another order than they were built
  Tree tree;

  std::uint32_t build(Stages stages, Ks ks) { return stages.front()->build(*this, ks, stages.subspan(1)); }
  Node node(bool start_negative = false) const { return Node{{}, wide, start_negative}; }
  Item leaves(Ks ks, Op op);
  std::uint32_t add(Node node);
  // A node of finished sums.
  std::uint32_t add(std::initializer_list<std::uint32_t> parts);
  // Cuts, builds each piece with the rest of the pipeline.
  std::vector<std::uint32_t> build_pieces(Stages rest, Ks ks, std::span<const std::size_t> sizes);
  Tree finish(std::uint32_t root, std::uint32_t k);
};

inline Item node_item(std::uint32_t node) {
  return Item{.node = node};
}

}  // namespace samebits::order
