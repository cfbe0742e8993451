// SPDX-License-Identifier: Apache-2.0
#include "order/tree_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "order/expression.h"
#include "order/stage.h"

namespace samebits::order {
namespace {

class TreeParser {
 public:
  TreeParser(Scanner& in, Op op, bool ops) : in_(in), op_(op), ops_(ops) {}

  Tree parse(bool wide) {
    const std::size_t column = in_.position();
    in_.expect('(');
    open({{}, wide});
    while (!stack_.empty()) {
      item();
      while (!in_.accept('+')) {
        if (!in_.accept(')')) in_.fail("'+' or ')'");
        if (close()) break;
      }
    }
    std::vector<bool> seen(tree_.ks.size());
    for (auto k : tree_.ks) {
      if (k >= seen.size())
        in_.fail_at(column, fmt::format("leaf {} in a tree of {} leaves: expected 0 to {}, each once", k, seen.size(),
                                        seen.size() - 1));
      if (seen[k]) in_.fail_at(column, fmt::format("leaf {} occurs twice", k));
      seen[k] = true;
    }
    tree_.k = static_cast<std::uint32_t>(tree_.ks.size());
    return std::move(tree_);
  }

 private:
  void open(Node node) {
    stack_.push_back(std::move(node));
    if (in_.accept("-0")) {
      stack_.back().start_negative = true;
      in_.expect('+');
    }
  }

  // Ends the innermost node; true when it was the outermost.
  bool close() {
    tree_.nodes.push_back(std::move(stack_.back()));
    stack_.pop_back();
    tree_.root = static_cast<std::uint32_t>(tree_.nodes.size() - 1);
    if (stack_.empty()) return true;
    stack_.back().items.push_back(node_item(tree_.root));
    return false;
  }

  // A leaf, a range, or everything up to the first leaf of a nested node.
  void item() {
    for (;;) {
      const bool wide = stack_.back().wide;
      Node inner{{}, wide};
      if (in_.accept('(')) {
      } else if (in_.at_digit() || in_.at('[')) {
        return leaves();
      } else if (ops_ && !in_.peek_word().empty()) {
        switch (in_.choose({"f64", "f32", "bf16", "fp16"})) {
          case 0:
            inner.wide = true;
            break;
          case 1:
            inner.wide = false;
            break;
          case 2:
            inner = {{}, false, false, Format::bf16};
            break;
          case 3:
            inner = {{}, false, false, Format::fp16};
            break;
        }
        in_.expect('(');
      } else {
        in_.fail("a leaf, '[' or '('");
      }
      open(std::move(inner));
    }
  }

  void leaves() {
    std::uint64_t first, last, step = 1;
    bool down = false;
    if (in_.accept('[')) {
      first = in_.number(0, max_leaves - 1);
      if (!in_.accept("..")) in_.fail("'..'");
      const std::size_t column = in_.position();
      last = in_.number(0, max_leaves - 1);
      if (in_.accept(':')) {
        down = in_.accept('-');
        step = in_.number(1, max_leaves);
      }
      in_.expect(']');
      if (down ? last > first : last < first) in_.fail_at(column, "the range is empty");
      if ((down ? first - last : last - first) % step != 0)
        in_.fail_at(column, fmt::format("the range does not end at {}", last));
    } else {
      first = last = in_.number(0, max_leaves - 1);
    }
    const std::uint64_t count = (down ? first - last : last - first) / step + 1;
    if (count > max_leaves - tree_.ks.size()) in_.fail(fmt::format("at most {} leaves", max_leaves));
    Op op = op_;
    constexpr Op ops[] = {Op::fma, Op::mul, Op::mul_f32};
    if (ops_ && in_.accept(':')) op = ops[in_.choose({"fma", "mul", "mul_f32"})];
    auto& items = stack_.back().items;
    if (items.empty() || items.back().is_node() || items.back().op != op)
      items.push_back({.begin = static_cast<std::uint32_t>(tree_.ks.size()), .op = op});
    items.back().count += static_cast<std::uint32_t>(count);
    for (std::uint64_t i = 0; i < count; ++i)
      tree_.ks.push_back(static_cast<std::uint32_t>(down ? first - i * step : first + i * step));
  }

  Scanner& in_;
  const Op op_;
  const bool ops_;
  Tree tree_;
  std::vector<Node> stack_;  // not recursion: text may nest as deep as it likes
};

std::string op_suffix(Op op, Op base) {
  constexpr std::string_view names[] = {"fma", "mul", "mul_f32", "mma", "exact"};
  return op == base ? "" : fmt::format(":{}", names[static_cast<int>(op)]);
}

// Joined leaves, "0 + 2 + [4..20:4]"; three and more in arithmetic progression are a range.
void print_leaves(std::string& out, std::span<const std::uint32_t> ks, const std::string& suffix,
                  std::string_view separator = " + ") {
  for (std::size_t i = 0; i < ks.size();) {
    std::size_t end = i + 1;
    const std::int64_t step = end < ks.size() ? std::int64_t{ks[end]} - ks[i] : 0;
    while (end < ks.size() && std::int64_t{ks[end]} - ks[end - 1] == step) ++end;
    if (i > 0) out += separator;
    if (end - i >= 3) {
      out += fmt::format("[{}..{}", ks[i], ks[end - 1]);
      out += step == 1 ? "]" : fmt::format(":{}]", step);
      i = end;
    } else {
      out += std::to_string(ks[i++]);
    }
    out += suffix;
  }
}

class TreePrinter {
 public:
  TreePrinter(const Expression& expression, Op base) : e_(expression), base_(base) {}

  std::string print(bool wide) {
    todo_.push_back({e_.root, wide, {}});
    while (!todo_.empty()) {
      const Task task = std::move(todo_.back());
      todo_.pop_back();
      if (task.term == none) {
        out_ += task.text;
      } else {
        term(task.term, task.wide);
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  struct Task {  // print a term in this precision, or a text
    std::uint32_t term;
    bool wide;
    std::string text;
  };

  // What is printed as name(...) rather than as a sum, and what stands inside.
  struct Wrapper {
    std::string_view name;
    std::uint32_t term = 0;
    bool wide = false;
  };
  Wrapper wrapper(std::uint32_t index, bool wide) const {
    const Term& t = e_.terms[index];
    if (t.wide != wide) return {"f32", index, false};  // double to float is a term of its own
    if (t.kind == Term::round) return {t.format == Format::bf16 ? "bf16" : "fp16", t.left, false};
    if (t.kind == Term::to_float) return {"f64", t.left, true};
    return {};
  }

  void term(std::uint32_t index, bool wide) {
    if (const Wrapper w = wrapper(index, wide); !w.name.empty()) {
      out_ += w.name;
      out_ += '(';
      todo_.push_back({none, false, ")"});
      todo_.push_back({w.term, w.wide, {}});
      return;
    }
    // The left spine, from its start.
    std::vector<std::uint32_t> spine;
    std::uint32_t at = index;
    while (e_.terms[at].is_step() && e_.terms[at].wide == wide) {
      spine.push_back(at);
      at = e_.terms[at].left;
    }
    std::reverse(spine.begin(), spine.end());
    std::vector<Task> tasks;
    std::string text;
    auto separate = [&, first = true]() mutable {
      if (!first) text += " + ";
      first = false;
    };
    const Term& start = e_.terms[at];
    if (start.kind == Term::start) {
      if (start.may_be_negative || spine.empty()) separate(), text += start.may_be_negative ? "-0" : "+0";
    } else if (start.kind == Term::exact) {
      separate();
      set(text, start, ":exact");
    } else {
      separate();
      tasks.push_back({at, wide, {}});
    }
    std::vector<std::uint32_t> ks;
    for (std::size_t i = 0; i < spine.size();) {
      const Term& s = e_.terms[spine[i]];
      separate();
      if (s.kind == Term::block) {
        std::vector<std::uint32_t> all;
        std::size_t end = i;
        bool full = true;  // blocks that follow a short one are printed apart
        for (; full && end < spine.size(); ++end) {
          const Term& b = e_.terms[spine[end]];
          if (b.kind != Term::block || b.width != s.width || b.fraction != s.fraction) break;
          all.insert(all.end(), e_.ks.begin() + b.begin, e_.ks.begin() + b.begin + b.count);
          full = b.count == b.width;
        }
        set(text, all, fmt::format(":mma({},{})", s.width, s.fraction));
        i = end;
        continue;
      }
      ks.clear();
      Op op{};
      for (; i < spine.size(); ++i) {
        const Term* leaf = e_.joined_leaf(spine[i]);
        if (!leaf) break;
        // The first leaf of a chain from -0 is a rounded product by fma and by mul.
        const bool either = leaf->op == Op::mul && e_.terms[spine[i]].left == at && start.may_be_negative &&
                            base_ == Op::fma && start.kind == Term::start;
        const Op printed = either ? base_ : leaf->op;
        if (!ks.empty() && printed != op) break;
        op = printed;
        ks.push_back(leaf->k);
      }
      if (!ks.empty()) {
        print_leaves(text, ks, op_suffix(op, base_));
        continue;
      }
      const std::uint32_t operand = s.right;
      const bool named = !wrapper(operand, wide).name.empty();
      if (!named) text += '(';
      tasks.push_back({none, false, std::exchange(text, {})});
      tasks.push_back({operand, wide, {}});
      if (!named) text += ')';
      ++i;
    }
    tasks.push_back({none, false, std::move(text)});
    todo_.insert(todo_.end(), std::make_move_iterator(tasks.rbegin()), std::make_move_iterator(tasks.rend()));
  }

  // Leaves that are taken all at once: "[0..7]:exact", "{1 + 5 + [6..8]}:exact".
  void set(std::string& text, std::span<const std::uint32_t> ks, const std::string& suffix) const {
    std::string inside;
    print_leaves(inside, ks, "");
    const bool one = inside.find(' ') == std::string::npos;
    text += one ? inside : "{" + inside + "}";
    text += suffix;
  }
  void set(std::string& text, const Term& t, const std::string& suffix) const {
    set(text, std::span(e_.ks).subspan(t.begin, t.count), suffix);
  }

  const Expression& e_;
  const Op base_;
  std::string out_;
  std::vector<Task> todo_;
};

}  // namespace

Tree parse_tree(Scanner& in, bool wide, Op op, bool ops) {
  return TreeParser(in, op, ops).parse(wide);
}

std::string tree_text(const Tree& tree, Op base, bool wide) {
  return TreePrinter(Expression(tree, wide), base).print(wide);
}

}  // namespace samebits::order
