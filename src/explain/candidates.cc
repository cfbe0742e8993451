// SPDX-License-Identifier: Apache-2.0
#include "explain/candidates.h"

#include <fmt/format.h>

#include <unordered_set>

#include "explain/families.h"
#include "reference/reference.h"

namespace samebits::explain {
namespace {

template <class T>
bool changes(const InputRounding& rounding, const std::vector<MatrixView<const T>>& matrices) {
  for (const auto& x : matrices)
    for (Index i = 0; i < x.rows; ++i)
      for (Index j = 0; j < x.cols; ++j)
        if (reference::round_to(rounding.format, rounding.rounding, x(i, j)) != x(i, j)) return true;
  return false;
}

// Pieces that an epilogue could begin the sum of: the root adds finished sums only.
bool has_pieces(const Tree& tree) {
  const Node& root = tree.nodes[tree.root];
  if (root.items.size() < 2) return false;
  for (const Item& item : root.items)
    if (!item.is_node()) return false;
  return true;
}

// The product that starts a chain from +0 is rounded whatever its op: write it as mul.
Tree with_plain_starts(Tree tree) {
  for (Node& node : tree.nodes) {
    if (node.items.empty() || node.start_negative) continue;
    Item& first = node.items.front();
    if (first.is_node() || first.op != Op::fma || first.count == 0) continue;
    Item product = first;
    product.op = Op::mul;
    product.count = 1;
    if (first.count == 1) {
      first = product;
      continue;
    }
    ++first.begin;
    --first.count;
    node.items.insert(node.items.begin(), product);
  }
  return tree;
}

// Products of rounded inputs (11 significant bits at most) are exact in float: fused or not is the same.
Tree with_exact_products(Tree tree) {
  for (Node& node : tree.nodes)
    for (Item& item : node.items)
      if (!item.is_node() && item.op == Op::fma) item.op = Op::mul;
  return tree;
}

std::string key(Tree tree, const Order& order, bool added) {
  const auto input = order.input();
  auto epilogue = order.epilogue();
  // With one piece, bias + piece and piece + bias are the same sum.
  if (!added || (epilogue.c == Epilogue::C::first && !has_pieces(tree))) epilogue = {};
  if (input.format != Format::none) tree = with_exact_products(std::move(tree));
  const bool seeded = epilogue.c == Epilogue::C::seed;
  const auto hash = seeded ? tree.hash() : with_plain_starts(tree).hash();
  return fmt::format("{:016x}{:016x} {}.{} {}.{}.{} {}", hash.hi, hash.lo, static_cast<int>(input.format),
                     static_cast<int>(input.rounding), static_cast<int>(epilogue.alpha), static_cast<int>(epilogue.c),
                     epilogue.fused, static_cast<int>(order.out()));
}

std::string_view out_text(Format out) {
  return out == Format::fp16 ? "out(fp16) > " : out == Format::bf16 ? "out(bf16) > " : "";
}

}  // namespace

std::string equivalence_key(const Order& plain, Index k, bool added) {
  return key(plain.tree(static_cast<std::size_t>(k)), plain, added);
}

template <class T>
std::vector<Candidate> candidates(const Problem<T>& problem, Format out) {
  const Index k = problem.k();
  const bool added = !problem.c.empty();
  std::vector<Candidate> list;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& prefix, const std::string& core) -> bool {
    Order order = Order::parse(fmt::format("{}{}{}", out_text(out), prefix, core));
    const Tree tree = order.tree(static_cast<std::size_t>(k));
    if (order.epilogue().c == Epilogue::C::first && !has_pieces(tree)) return false;
    std::string id = key(tree, order, added);
    const bool fresh = seen.insert(id).second;
    if (fresh) list.push_back({std::move(order), std::move(id)});
    return fresh;
  };

  std::vector<std::string> roundings;
  for (const auto& r : input_roundings(dtype_of<T>)) {
    const auto rounding = Order::parse(r + " > fma").input();
    if (changes(rounding, problem.a) || changes(rounding, problem.b)) roundings.push_back(r);
  }
  const auto all = families(k, dtype_of<T>);
  std::vector<const Family*> common;
  for (const auto& f : all) {
    const bool fresh = add("", f.order);
    if (!f.common) continue;
    if (fresh) common.push_back(&f);
    if (!added) continue;  // orders that are one without c may differ in how c starts them
    add("epilogue(c=first) > ", f.order);
    add("epilogue(c=seed) > ", f.order);
  }
  for (const auto& r : roundings) {
    for (const Family* f : common) add(r + " > ", f->order);
    for (const auto& t : tensor_cores(k, r)) {
      add(r + " > ", t);
      if (added) add(fmt::format("epilogue(c=seed) > {} > ", r), t);
    }
  }
  return list;
}

template std::vector<Candidate> candidates(const Problem<float>&, Format);
template std::vector<Candidate> candidates(const Problem<double>&, Format);

}  // namespace samebits::explain
