// SPDX-License-Identifier: Apache-2.0
#include "explain/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "explain/compare.h"
#include "reference/float_environment.h"

namespace samebits::explain {
namespace {

using Set = std::pair<std::uint64_t, std::uint64_t>;  // exclusive or of its leaves' hashes

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
Set leaf_set(std::uint32_t k) {
  return {mix(2 * std::uint64_t{k}), mix(2 * std::uint64_t{k} + 1)};
}
Set join(Set x, Set y) {
  return {x.first ^ y.first, x.second ^ y.second};
}

// The same tree with one item for each product, or for each block of mma.
Tree in_single_steps(const Tree& tree) {
  Tree out = tree;
  for (Node& node : out.nodes) {
    std::vector<Item> items;
    for (const Item& item : node.items) {
      if (item.is_node() || item.op == Op::exact) {
        items.push_back(item);
        continue;
      }
      for (std::uint32_t done = 0; done < item.count;) {
        Item step = item;
        const std::uint32_t end = done < item.residue ? std::min(item.residue, item.count) : item.count;
        step.begin = item.begin + done;
        step.count = std::min<std::uint32_t>(item.op == Op::mma ? item.block : 1, end - done);
        step.residue = 0;
        items.push_back(step);
        done += step.count;
      }
    }
    node.items = std::move(items);
  }
  return out;
}

struct Step {
  std::uint32_t node, item;
  Set set;
  std::uint32_t size;  // leaves
  double value;
  bool wide;
};

template <class T>
struct Side {
  Tree tree;
  std::vector<T> a, b;
  std::vector<Step> steps;  // in evaluation order
  T sum, result;

  Side(const Order& order, const T* x, const T* y, Index k, const reference::Scale<T>& scale)
      : tree(in_single_steps(order.tree(static_cast<std::size_t>(k)))), a(k), b(k) {
    reference::gather(order.input(), x, 1, k, a.data());
    reference::gather(order.input(), y, 1, k, b.data());
    std::vector<Set> sets(tree.nodes.size());
    std::vector<std::uint32_t> sizes(tree.nodes.size());
    sum = reference::evaluate<T>(tree, a.data(), b.data(), [&](std::uint32_t n, std::uint32_t i, double value) {
      const Item& item = tree.nodes[n].items[i];
      if (item.is_node()) {
        sets[n] = join(sets[n], sets[item.node]);
        sizes[n] += sizes[item.node];
        const Node& child = tree.nodes[item.node];
        if (i == 0 && tree.nodes[n].wide == child.wide && child.round == Format::none) return;  // the child's value again
      } else {
        for (std::uint32_t l = 0; l < item.count; ++l) sets[n] = join(sets[n], leaf_set(tree.ks[item.begin + l]));
        sizes[n] += item.count;
      }
      steps.push_back({n, i, sets[n], sizes[n], value, tree.nodes[n].wide});
    });
    result = reference::evaluate(tree, order.epilogue(), order.out(), a.data(), b.data(), scale);
  }

  // Leaves of the accumulator after this step.
  std::vector<std::uint32_t> leaves(const Step& step) const {
    std::vector<std::uint32_t> out;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> todo = {{step.node, step.item + 1}};  // a node's first items
    while (!todo.empty()) {
      const auto [n, count] = todo.back();
      todo.pop_back();
      for (std::uint32_t i = 0; i < count; ++i) {
        const Item& item = tree.nodes[n].items[i];
        if (item.is_node())
          todo.push_back({item.node, static_cast<std::uint32_t>(tree.nodes[item.node].items.size())});
        else
          out.insert(out.end(), tree.ks.begin() + item.begin, tree.ks.begin() + item.begin + item.count);
      }
    }
    std::ranges::sort(out);
    return out;
  }
};

}  // namespace

std::string leaves_text(const std::vector<std::uint32_t>& x) {
  if (x.size() <= 2) return fmt::format("{}", fmt::join(x, ", "));
  const std::uint32_t step = x[1] - x[0];
  for (std::size_t i = 1; i < x.size(); ++i)
    if (x[i] - x[i - 1] != step) {
      if (x.size() <= 8) return fmt::format("{}", fmt::join(x, ", "));
      return fmt::format("{}, ... {} ({} products)", fmt::join(x.begin(), x.begin() + 6, ", "), x.back(), x.size());
    }
  if (step == 1) return fmt::format("{} to {}", x.front(), x.back());
  return fmt::format("{}, {}, ... {}", x[0], x[1], x.back());
}

std::string Trace::value(double x, bool wide) const {
  return wide || dtype == DType::f64 ? hex(x) : hex(static_cast<float>(x));
}

template <class T>
Trace trace(const Order& left_order, const Order& right_order, const T* a, const T* b, Index k,
            const reference::Scale<T>& scale, std::size_t kept) {
  const FloatEnvironment environment;
  const Side<T> left(left_order, a, b, k, scale), right(right_order, a, b, k, scale);
  Trace out;
  out.dtype = dtype_of<T>;
  out.same_tree = left.tree.hash() == right.tree.hash();
  out.left_sum = left.sum;
  out.right_sum = right.sum;
  out.left = left.result;
  out.right = right.result;
  out.sum_differs = !same_bits(left.sum, right.sum);
  out.differs = !same_bits(left.result, right.result);
  for (Index i = 0; i < k && !out.input; ++i)
    if (!same_bits(left.a[i], right.a[i]) || !same_bits(left.b[i], right.b[i]))
      out.input = Trace::Input{static_cast<std::uint32_t>(i), left.a[i], left.b[i], right.a[i], right.b[i]};

  std::map<Set, const Step*> formed;  // by the right order; the last step of a set, where several form it
  for (const Step& step : right.steps) formed[step.set] = &step;
  std::vector<std::pair<const Step*, const Step*>> common;
  std::map<Set, std::size_t> seen;
  for (const Step& step : left.steps) {
    const auto match = formed.find(step.set);
    if (match == formed.end()) {
      if (!out.parts_at) {
        const Item& item = left.tree.nodes[step.node].items[step.item];
        const auto joined =
            item.is_node()
                ? left.leaves(
                      {item.node, static_cast<std::uint32_t>(left.tree.nodes[item.node].items.size() - 1), {}, 0, 0, false})
                : std::vector<std::uint32_t>{left.tree.ks[item.begin]};
        out.parts_at = joined.front();
        out.parts_leaves = left.leaves(step);
      }
      continue;
    }
    const auto [at, is_new] = seen.try_emplace(step.set, common.size());
    if (is_new)
      common.push_back({&step, match->second});
    else
      common[at->second].first = &step;
  }
  if (!out.same_tree) std::ranges::stable_sort(common, {}, [](const auto& pair) { return pair.first->size; });

  out.common = common.size();
  const auto differs = [](const auto& pair) { return !same_bits(pair.first->value, pair.second->value); };
  const auto first = std::ranges::find_if(common, differs);
  const auto add = [&](const auto& pair) {
    out.steps.push_back({left.leaves(*pair.first), pair.first->value, pair.second->value, pair.first->wide,
                         pair.second->wide, differs(pair)});
  };
  const std::size_t stop = first - common.begin();
  for (std::size_t i = stop > kept ? stop - kept : 0; i < stop; ++i) add(common[i]);
  if (first != common.end()) {
    out.first_differs = out.steps.size();
    add(*first);
    if (first + 1 != common.end()) add(common.back());
  }
  return out;
}
template Trace trace(const Order&, const Order&, const float*, const float*, Index, const reference::Scale<float>&,
                     std::size_t);
template Trace trace(const Order&, const Order&, const double*, const double*, Index, const reference::Scale<double>&,
                     std::size_t);

std::string Trace::text(const std::string& left_name, const std::string& right_name) const {
  std::string out;
  const std::size_t name = std::max(left_name.size(), right_name.size());
  const auto pair = [&](double l, double r, bool lw = false, bool rw = false) {
    out += fmt::format("    {:<{}}  {}\n    {:<{}}  {}\n", left_name, name, value(l, lw), right_name, name, value(r, rw));
  };
  if (input) {
    const bool by_a = !same_bits(input->left_a, input->right_a);
    out += fmt::format("  inputs differ after rounding, first {}[{}]:\n", by_a ? "a" : "b", input->k);
    by_a ? pair(input->left_a, input->right_a) : pair(input->left_b, input->right_b);
  }
  out += same_tree ? fmt::format("  both form the same {} sums, in the same order\n", common)
                   : fmt::format("  {} sums over the same products in both orders\n", common);
  if (parts_at)
    out += fmt::format("  the orders part where {} adds k = {}: only it sums {}\n", left_name, *parts_at,
                       leaves_text(parts_leaves));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TraceStep& step = steps[i];
    const char* how = i == first_differs ? "first difference" : step.differs ? "different" : "equal";
    out += fmt::format("  {}, k = {}\n", how, leaves_text(step.leaves));
    if (step.differs)
      pair(step.left, step.right, step.left_wide, step.right_wide);
    else
      out += fmt::format("    {}\n", value(step.left, step.left_wide));
  }
  if (!sum_differs && differs)
    out += "  the sums are equal; the epilogue makes the difference:\n";
  else
    out += differs ? "  results:\n" : "  results are equal:\n";
  pair(left, right);
  return out;
}

}  // namespace samebits::explain
