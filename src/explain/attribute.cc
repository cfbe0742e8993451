// SPDX-License-Identifier: Apache-2.0
#include "explain/attribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>

#include "explain/candidates.h"
#include "explain/compare.h"
#include "explain/search.h"
#include "reference/reference.h"

namespace samebits::explain {
namespace {

enum Step { input, op, tree, accumulator, epilogue, steps };
constexpr std::array names = {"input", "op", "tree", "accumulator", "epilogue"};

enum class Kind { narrow, wide, mma, exact };

Kind kind(const Tree& t) {
  Kind k = Kind::narrow;
  for (const Node& n : t.nodes) {
    for (const Item& i : n.items)
      if (!i.is_node() && i.op == Op::mma)
        return Kind::mma;
      else if (!i.is_node() && i.op == Op::exact)
        return Kind::exact;
    if (n.wide) k = Kind::wide;
  }
  return k;
}

std::string kind_text(const Tree& t, DType dtype) {
  switch (kind(t)) {
    case Kind::narrow:
      return dtype == DType::f32 ? "float32" : "float64";
    case Kind::wide:
      return "float64";
    case Kind::exact:
      return "exact";
    case Kind::mma:
      break;
  }
  for (const Node& n : t.nodes)
    for (const Item& i : n.items)
      if (!i.is_node() && i.op == Op::mma)
        return fmt::format("tensor core, blocks of {}, {} fraction bits", i.block, i.fraction);
  return "";
}

Tree with_op(Tree t, Op from, Op to) {
  for (Node& n : t.nodes)
    for (Item& i : n.items)
      if (!i.is_node() && i.op == from) i.op = to;
  return t;
}

Tree with_wide(Tree t, bool wide) {
  for (Node& n : t.nodes) n.wide = wide;
  return wide ? t : with_op(std::move(t), Op::mul_f32, Op::mul);
}

bool chain_op(Op op) {
  return op == Op::fma || op == Op::mul;
}

std::string op_text(Op op) {
  return op == Op::fma     ? "fma"
         : op == Op::mul   ? "mul"
         : op == Op::mma   ? "mma"
         : op == Op::exact ? "exact"
                           : "mul(round=f32)";
}

std::string rounding_text(const InputRounding& r) {
  static constexpr std::array format = {"as they are", "tf32", "bf16", "fp16"};
  static constexpr std::array how = {"rne", "rna", "rz", "rz, raw"};
  const auto* f = format[static_cast<std::size_t>(r.format)];
  return r.format == Format::none ? f : fmt::format("{}({})", f, how[static_cast<std::size_t>(r.rounding)]);
}

std::string epilogue_text(const Order& o) {
  static constexpr std::array c = {"c added last", "c first", "c starts the first chain"};
  static constexpr std::array out = {"", "", ", rounded to bf16", ", rounded to fp16"};
  return fmt::format("{}{}", c[static_cast<std::size_t>(o.epilogue().c)], out[static_cast<std::size_t>(o.out())]);
}

std::string tree_text(const Tree& t) {
  std::string s = t.text();
  if (s.size() > 100) s = s.substr(0, 97) + "...";
  return s;
}

// The states between one plain order and another, and which of the steps they take.
struct Walk {
  struct State {
    InputRounding input;
    Tree tree;
    Epilogue epilogue;
    Format out;
  };
  std::array<State, steps + 1> state;
  std::array<bool, steps> taken{};
  std::array<std::string, steps> from, to;

  Walk(const Order& l, const Order& r, std::size_t k, DType dtype, bool added) {
    const Tree lt = l.tree(k), rt = r.tree(k);
    const Kind lk = kind(lt), rk = kind(rt);
    const Op lo = lt.main_op(), ro = rt.main_op();
    const auto note = [&](Step s, bool when, std::string a, std::string b) {
      taken[s] = when;
      from[s] = std::move(a);
      to[s] = std::move(b);
    };
    note(input, !(l.input() == r.input()), rounding_text(l.input()), rounding_text(r.input()));
    const bool ops = chain_op(lo) && chain_op(ro);
    note(op, ops && lo != ro, op_text(lo), op_text(ro));
    const Tree opped = ops && lo != ro ? with_op(lt, lo, ro) : lt;
    // Between a chain of single products and a fused block, or an exact sum, there is no tree in between: one step.
    const bool walkable = lk <= Kind::wide && rk <= Kind::wide;
    const Tree treed = !walkable ? opped : lk == rk ? rt : with_wide(rt, lk == Kind::wide);
    note(tree, walkable && treed.hash() != opped.hash(), tree_text(opped), tree_text(treed));
    note(accumulator, treed.hash() != rt.hash(), kind_text(lt, dtype), kind_text(rt, dtype));
    note(epilogue, (added && !(l.epilogue() == r.epilogue())) || l.out() != r.out(), epilogue_text(l), epilogue_text(r));
    state[0] = {l.input(), lt, l.epilogue(), l.out()};
    state[1] = {r.input(), lt, l.epilogue(), l.out()};
    state[2] = {r.input(), opped, l.epilogue(), l.out()};
    state[3] = {r.input(), treed, l.epilogue(), l.out()};
    state[4] = {r.input(), rt, l.epilogue(), l.out()};
    state[5] = {r.input(), rt, r.epilogue(), r.out()};
  }
};

}  // namespace

template <class T>
std::vector<Factor> attribute(const Problem<T>& problem, const Order& left, const Order& right, int threads) {
  const Index m = problem.m(), n = problem.n(), k = problem.k();
  const bool added = !problem.c.empty();
  // One walk for each pair of plain orders; most products have one, at most a few dozen.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Walk>> walks;
  std::vector<const Walk*> walk(m * n);
  const bool uniform = !left.has_regions() && !right.has_regions();
  for (Index e = 0; e < m * n; ++e) {
    if (uniform && e) {
      walk[e] = walk[0];
      continue;
    }
    const Order l = left.at(e / n, e % n), r = right.at(e / n, e % n);
    auto& w = walks[{l.text(), r.text()}];
    if (!w) w = std::make_unique<Walk>(l, r, static_cast<std::size_t>(k), dtype_of<T>, added);
    walk[e] = w.get();
  }

  std::array<std::atomic<Index>, steps> changed{};
  parallel_for(static_cast<std::size_t>(problem.batch() * m), threads, [&](std::size_t row) {
    const Index item = static_cast<Index>(row) / m, i = static_cast<Index>(row) % m;
    const auto& a = problem.a[item];
    const auto& b = problem.b[item];
    std::vector<T> ra(k), rb(k);
    for (Index j = 0; j < n; ++j) {
      const Walk& w = *walk[i * n + j];
      const reference::Scale<T> scale{.beta = added ? T(1) : T(0), .c = added ? problem.c[item](i, j) : T(0)};
      const auto value = [&](const Walk::State& s) {
        reference::gather(s.input, a.data + i * a.row_stride, a.col_stride, k, ra.data());
        reference::gather(s.input, b.data + j * b.col_stride, b.row_stride, k, rb.data());
        return reference::evaluate(s.tree, s.epilogue, s.out, ra.data(), rb.data(), scale);
      };
      T before = 0;
      bool known = false;
      for (int s = 0; s < steps; ++s) {
        if (!w.taken[s]) continue;
        if (!known) before = value(w.state[s]);
        const T after = value(w.state[s + 1]);
        changed[s] += !same_bits(before, after);
        before = after;
        known = true;
      }
    }
  });

  std::vector<Factor> list;
  for (int s = 0; s < steps; ++s) {
    const Walk* sample = nullptr;
    bool several = false;
    for (const auto& [key, w] : walks)
      if (w->taken[s]) {
        several |= sample && (sample->from[s] != w->from[s] || sample->to[s] != w->to[s]);
        if (!sample) sample = w.get();
      }
    if (!sample) continue;
    const char* more = several ? " (and others, by region)" : "";
    list.push_back({names[s], sample->from[s] + more, sample->to[s] + more, changed[s]});
  }
  return list;
}

template std::vector<Factor> attribute(const Problem<float>&, const Order&, const Order&, int);
template std::vector<Factor> attribute(const Problem<double>&, const Order&, const Order&, int);

}  // namespace samebits::explain
