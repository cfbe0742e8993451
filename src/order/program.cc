// SPDX-License-Identifier: Apache-2.0
// Compiles a tree to straight code for one tile.
#include <algorithm>

#include "order/pieces.h"
#include "samebits/error.h"
#include "samebits/tree.h"

namespace samebits {
namespace {

// Nodes at the top that only pass a value on. A float passes through unchanged, and a double is rounded once in any case.
std::uint32_t strip(const Tree& tree, std::uint32_t root) {
  while (tree.nodes[root].round == Format::none && tree.nodes[root].items.size() == 1 && tree.nodes[root].items[0].is_node())
    root = tree.nodes[root].items[0].node;
  return root;
}

std::vector<std::uint32_t> reachable(const Tree& tree, std::uint32_t root) {
  std::vector<std::uint32_t> list{root};
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const Item& item : tree.nodes[list[i]].items)
      if (item.is_node()) list.push_back(item.node);
  return list;
}

class Compiler {
 public:
  explicit Compiler(const Tree& tree) : tree_(tree), needs_(tree.nodes.size()), first_(tree.nodes.size()) {
    program_.permutation.reserve(tree.k);
    // Tiles on the stack that a node needs, after each of its items (Sethi-Ullman numbers; a chain needs none).
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
      first_[n] = static_cast<std::uint32_t>(prefix_.size());
      std::uint32_t need = 0;
      bool first = true;
      for (const Item& item : tree.nodes[n].items) {
        if (item.is_node()) {
          const std::uint32_t other = needs_[item.node];
          need = first ? other : std::max(std::max(need, other), std::min(need, other) + 1);
        }
        first = false;
        prefix_.push_back(need);
      }
      needs_[n] = need;
    }
  }

  // Adds the code of a node; returns the packed position after it.
  std::uint32_t add(std::uint32_t node) {
    if (tree_.k > 0) whole(node);
    while (!todo_.empty()) {
      const Task task = todo_.back();
      todo_.pop_back();
      switch (task.kind) {
        case Task::prefix:
          prefix(task.node, task.item);
          break;
        case Task::leaves:
          leaves(task.node, task.item);
          break;
        case Task::push:
          program_.runs.back().push = true;
          program_.depth = std::max(program_.depth, ++stacked_);
          break;
        case Task::merge:
          ++program_.runs.back().merges;
          --stacked_;
          break;
      }
    }
    return static_cast<std::uint32_t>(program_.permutation.size());
  }

  Program finish(bool wide) {
    program_.k = tree_.k;
    program_.wide = wide;
    program_.identity = true;
    for (std::uint32_t p = 0; p < program_.permutation.size(); ++p) program_.identity &= program_.permutation[p] == p;
    return std::move(program_);
  }

 private:
  struct Task {
    enum Kind : std::uint8_t { prefix, leaves, push, merge } kind;
    std::uint32_t node = 0, item = 0;  // prefix: items 0..item of the node
  };

  void whole(std::uint32_t node) {
    todo_.push_back({Task::prefix, node, static_cast<std::uint32_t>(tree_.nodes[node].items.size() - 1)});
  }

  // Replaces "the sum of items 0..i" by its parts; the last one pushed is done first.
  void prefix(std::uint32_t node, std::uint32_t i) {
    const Item& item = tree_.nodes[node].items[i];
    if (!item.is_node()) {
      todo_.push_back({Task::leaves, node, i});
      if (i > 0) todo_.push_back({Task::prefix, node, i - 1});
    } else if (i == 0) {
      whole(item.node);
    } else if (needs_[item.node] > prefix_[first_[node] + i - 1]) {
      todo_.push_back({Task::merge});
      todo_.push_back({Task::prefix, node, i - 1});
      todo_.push_back({Task::push});
      whole(item.node);
    } else {
      todo_.push_back({Task::merge});
      whole(item.node);
      todo_.push_back({Task::push});
      todo_.push_back({Task::prefix, node, i - 1});
    }
  }

  void leaves(std::uint32_t node, std::uint32_t i) {
    const Item& item = tree_.nodes[node].items[i];
    if (item.count == 0) return;
    const auto position = static_cast<std::uint32_t>(program_.permutation.size());
    program_.permutation.insert(program_.permutation.end(), tree_.ks.begin() + item.begin,
                                tree_.ks.begin() + item.begin + item.count);
    auto& runs = program_.runs;
    if (i > 0 && runs.back().op == item.op && runs.back().merges == 0) {
      runs.back().length += item.count;
      return;
    }
    Run run{.begin = position, .length = item.count, .op = item.op, .start = Run::Start::resume};
    if (i == 0) run.start = tree_.nodes[node].start_negative ? Run::Start::negative_zero : Run::Start::zero;
    runs.push_back(run);
  }

  const Tree& tree_;
  std::vector<std::uint32_t> needs_, first_, prefix_;  // prefix_[first_[n] + i]: need of items 0..i of node n
  std::vector<Task> todo_;
  Program program_;
  std::uint32_t stacked_ = 0;
};

// Fused or rounded products, added in one precision.
bool is_code(const Tree& tree, std::uint32_t root, bool wide) {
  for (auto n : reachable(tree, root)) {
    const Node& node = tree.nodes[n];
    if (node.wide != wide || (n != root && node.round != Format::none)) return false;
    for (const Item& item : node.items)
      if (!item.is_node() && item.op != Op::fma && item.op != Op::mul) return false;
  }
  return true;
}

}  // namespace

bool is_program(const Tree& tree) {
  if (tree.nodes.empty()) return false;
  const std::uint32_t root = strip(tree, tree.root);
  return tree.nodes[root].round == Format::none && is_code(tree, root, tree.nodes[root].wide);
}

Program compile(const Tree& tree) {
  if (!is_program(tree)) throw Error(Code::unsupported, "only fma and mul in one precision make a program");
  const std::uint32_t root = strip(tree, tree.root);
  Compiler compiler(tree);
  compiler.add(root);
  return compiler.finish(tree.nodes[root].wide);
}

std::optional<Pieces> compile_pieces(const Tree& tree) {
  if (tree.k == 0) return std::nullopt;
  const Node& root = tree.nodes[tree.root];
  std::vector<std::uint32_t> nodes;
  for (const Item& item : root.items)
    if (item.is_node()) nodes.push_back(item.node);
  if (nodes.empty())
    nodes.push_back(tree.root);
  else if (nodes.size() != root.items.size())
    return std::nullopt;
  // An epilogue by pieces stands outside `f64`, so a wide root has none.
  if (root.wide || root.round != Format::none) return std::nullopt;

  Pieces pieces{.program = {}, .ends = {}, .round = tree.nodes[nodes[0]].round};
  bool same_round = true;
  for (std::uint32_t& node : nodes) {
    same_round &= tree.nodes[node].round == pieces.round;
    if (pieces.round == Format::none) node = strip(tree, node);
  }
  const bool wide = tree.nodes[nodes[0]].wide;
  const auto is_piece = [&](std::uint32_t node) {
    return is_code(tree, node, wide) && tree.nodes[node].round == pieces.round;
  };
  if (!same_round || !std::ranges::all_of(nodes, is_piece)) return std::nullopt;
  Compiler compiler(tree);
  for (const std::uint32_t node : nodes) pieces.ends.push_back(compiler.add(node));
  pieces.program = compiler.finish(wide);
  return pieces;
}

}  // namespace samebits
