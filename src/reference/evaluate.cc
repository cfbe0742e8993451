// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/reference.h"

namespace samebits::reference {
namespace {

[[noreturn]] void unsupported(const char* why) {
  throw Error(Code::unsupported, why);
}

// S is the precision of the node, T the type of the inputs.
template <class S, class T>
void require(const Node& node, const Item& item) {
  if (item.is_node()) return;
  constexpr bool all_float = sizeof(S) == sizeof(float);
  if (item.op == Op::mma) {
    if (!all_float) unsupported("mma accumulates in float: neither double inputs nor f64 can stand around it");
    if (item.block < 1 || item.block > 256) unsupported("mma: blocks of 1 to 256 products");
    if (item.fraction > 46) unsupported("mma: at most 46 fraction bits");
  }
  if (item.op == Op::mul_f32 && sizeof(T) != sizeof(float)) unsupported("mul(round=f32) needs float inputs");
  if (item.op == Op::exact && (node.items.size() > 1 || node.start_negative))
    unsupported("exact is a whole sum: nothing can be added before or after it in its chain");
}

// c <- block(c), for each block of the leaves ks[0, n); the last one is filled up with +0 products.
float mma_chain(const Item& item, const std::uint32_t* ks, std::size_t n, const float* a, const float* b, float c) {
  for (std::size_t first = 0; first < n; first += item.block) {
    float x[256] = {}, y[256] = {};
    for (std::size_t i = first; i < std::min<std::size_t>(n, first + item.block); ++i) {
      x[i - first] = a[ks[i]];
      y[i - first] = b[ks[i]];
    }
    c = mma_block(x, y, item.block, item.fraction, c, item.emin);
  }
  return c;
}

template <class S, class T>
S exact(const std::uint32_t* ks, std::size_t n, const T* a, const T* b) {
  std::vector<S> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = a[ks[i]];
    y[i] = b[ks[i]];
  }
  return exact_dot(x.data(), y.data(), n);
}

// The leaves of one item, joined to the accumulator s.
template <class S, class T>
S join(const Tree& tree, const Item& item, const T* a, const T* b, S s) {
  const std::uint32_t* ks = tree.ks.data() + item.begin;
  const std::uint32_t* end = ks + item.count;
  switch (item.op) {
    case Op::fma:
      for (; ks != end; ++ks) s = std::fma(static_cast<S>(a[*ks]), static_cast<S>(b[*ks]), s);
      return s;
    case Op::mul:
      for (; ks != end; ++ks) s = s + static_cast<S>(a[*ks]) * static_cast<S>(b[*ks]);
      return s;
    case Op::mul_f32:
      for (; ks != end; ++ks) s = s + static_cast<S>(a[*ks] * b[*ks]);
      return s;
    case Op::mma:
      if constexpr (sizeof(S) == sizeof(float)) {
        const std::uint32_t residue = std::min(item.residue, item.count);
        s = mma_chain(item, ks, residue, a, b, s);
        return mma_chain(item, ks + residue, item.count - residue, a, b, s);
      }
      break;
    case Op::exact:
      return exact<S>(ks, item.count, a, b);
  }
  throw Error(Code::internal, "evaluate: unknown leaf op");
}

// Values of nodes are kept as double, which holds every float.
template <class S, class T>
S node_value(const Tree& tree, std::uint32_t index, const double* value, const T* a, const T* b, const T* seed,
             const Observer* observe) {
  const Node& node = tree.nodes[index];
  S s = seed ? static_cast<S>(*seed) : node.start_negative && !node.items.empty() ? S(-0.0) : S(0);
  for (std::uint32_t i = 0; i < node.items.size(); ++i) {
    const Item& item = node.items[i];
    require<S, T>(node, item);
    if (!item.is_node()) {
      s = join(tree, item, a, b, s);
    } else {
      const S x = static_cast<S>(value[item.node]);
      s = i == 0 ? x : s + x;
    }
    if (observe) (*observe)(index, i, s);
  }
  return s;
}

// The node that holds the first chain in evaluation order.
std::uint32_t first_chain(const Tree& tree) {
  std::uint32_t i = tree.root;
  while (!tree.nodes[i].items.empty() && tree.nodes[i].items.front().is_node()) i = tree.nodes[i].items.front().node;
  return i;
}

// Node values up to the root's. A few nodes, as most trees have, need no allocation.
template <class T>
class Values {
 public:
  Values(const Tree& tree, const T* a, const T* b, const T* seed = nullptr, const Observer* observe = nullptr)
      : many_(tree.nodes.size() > std::size(few_) ? tree.nodes.size() : 0), value_(many_.empty() ? few_ : many_.data()) {
    const std::uint32_t seeded = seed ? first_chain(tree) : Item::no_node;
    for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
      const T* start = i == seeded ? seed : nullptr;
      const double value = tree.nodes[i].wide ? node_value<double>(tree, i, value_, a, b, start, observe)
                                              : node_value<T>(tree, i, value_, a, b, start, observe);
      value_[i] = round_to(tree.nodes[i].round, Rounding::rne, value);
    }
  }
  double operator[](std::uint32_t node) const { return value_[node]; }

 private:
  double few_[64];
  std::vector<double> many_;
  double* value_;
};

// p0, p1, ... summed with their factor alpha, beginning with *c if there is one.
template <class S, class T>
S sum_pieces(const Tree& tree, const Values<T>& value, bool several, T alpha, const T* c, bool fused) {
  S s = c ? static_cast<S>(*c) : S(0);
  bool started = c != nullptr;
  const auto add = [&](std::uint32_t node) {
    const S p = static_cast<S>(value[node]), factor = static_cast<S>(alpha);
    if (!started)
      s = alpha == 1 ? p : factor * p;
    else if (alpha == 1)
      s = s + p;
    else
      s = fused ? std::fma(factor, p, s) : s + factor * p;
    started = true;
  };
  if (!several)
    add(tree.root);
  else
    for (const Item& item : tree.nodes[tree.root].items) add(item.node);
  return s;
}

bool all_nodes(const Node& node) {
  return !node.items.empty() && std::ranges::all_of(node.items, [](const Item& x) { return x.is_node(); });
}
bool any_node(const Node& node) {
  return std::ranges::any_of(node.items, [](const Item& x) { return x.is_node(); });
}

const Tree& empty_tree() {
  static const Tree tree{.k = 0, .ks = {}, .nodes = {Node{}}, .root = 0};
  return tree;
}

template <class T>
void check_epilogue(const Tree& tree, const Epilogue& epilogue, T alpha, T beta) {
  const bool scaled = alpha != 1 && epilogue.alpha != Epilogue::Alpha::a;
  const bool has_c = beta != 0;
  const Node& root = tree.nodes[tree.root];
  if (has_c && epilogue.c == Epilogue::C::first && epilogue.alpha == Epilogue::Alpha::end && scaled)
    unsupported(
        "epilogue(c=first): the sum begins with C, so alpha must be applied to each piece (alpha=block) or to A (alpha=a)");
  if (has_c && epilogue.c == Epilogue::C::seed) {
    if (scaled) unsupported("epilogue(c=seed): the chain starts from C, so alpha can only be applied to A (alpha=a)");
    const Node& node = tree.nodes[first_chain(tree)];
    if (!node.items.empty() && node.items.front().op == Op::exact)
      unsupported("epilogue(c=seed): exact has no chain to start");
  }
  const bool pieces = (scaled && epilogue.alpha == Epilogue::Alpha::block) || (has_c && epilogue.c == Epilogue::C::first);
  if (pieces && any_node(root) && !all_nodes(root))
    unsupported("epilogue(alpha=block, c=first) needs finished pieces: this order joins single products to their sum");
}

}  // namespace

template <class T>
void check(const Tree& tree, const Epilogue& epilogue, T alpha, T beta) {
  if (alpha == 0) return;
  for (const Node& node : tree.nodes)
    for (const Item& item : node.items) node.wide ? require<double, T>(node, item) : require<T, T>(node, item);
  check_epilogue(tree, epilogue, alpha, beta);
}

template <class T>
T evaluate(const Tree& tree, const T* a, const T* b) {
  return static_cast<T>(Values<T>(tree, a, b)[tree.root]);
}

template <class T>
T evaluate(const Tree& tree, const T* a, const T* b, const Observer& observe) {
  return static_cast<T>(Values<T>(tree, a, b, nullptr, &observe)[tree.root]);
}

template <class T>
T evaluate(const Tree& given, const Epilogue& epilogue, Format out, const T* a, const T* b, const Scale<T>& scale) {
  const Tree& tree = scale.alpha == 0 ? empty_tree() : given;
  check_epilogue(tree, epilogue, scale.alpha == 0 ? T(1) : scale.alpha, scale.beta);
  T alpha = scale.alpha == 0 ? T(1) : scale.alpha;

  std::vector<T> scaled;
  if (epilogue.alpha == Epilogue::Alpha::a && alpha != 1) {
    scaled.assign(a, a + tree.k);
    for (T& x : scaled) x = alpha * x;
    a = scaled.data();
    alpha = 1;
  }
  const bool has_c = scale.beta != 0;
  const T c = !has_c ? T(0) : scale.beta == 1 ? scale.c : scale.beta * scale.c;
  const auto c_if = [&](Epilogue::C where) { return has_c && epilogue.c == where ? &c : nullptr; };

  const Values<T> value(tree, a, b, c_if(Epilogue::C::seed));
  T t;
  if (epilogue.alpha == Epilogue::Alpha::block || c_if(Epilogue::C::first)) {
    const Node& root = tree.nodes[tree.root];
    const T* first = c_if(Epilogue::C::first);
    const bool several = all_nodes(root);
    t = root.wide ? static_cast<T>(sum_pieces<double>(tree, value, several, alpha, first, epilogue.fused))
                  : sum_pieces<T>(tree, value, several, alpha, first, epilogue.fused);
  } else {
    t = static_cast<T>(value[tree.root]);
    if (epilogue.fused && c_if(Epilogue::C::last)) {
      t = std::fma(alpha, t, c);
    } else if (alpha != 1) {
      t = alpha * t;
    }
  }
  const bool c_is_in = epilogue.c != Epilogue::C::last || (epilogue.fused && epilogue.alpha != Epilogue::Alpha::block);
  if (has_c && !c_is_in) t = t + c;
  if (scale.has_bias) t = t + scale.bias;
  return round_to(out, Rounding::rne, t);
}

template float evaluate(const Tree&, const float*, const float*);
template double evaluate(const Tree&, const double*, const double*);
template float evaluate(const Tree&, const float*, const float*, const Observer&);
template double evaluate(const Tree&, const double*, const double*, const Observer&);
template float evaluate(const Tree&, const Epilogue&, Format, const float*, const float*, const Scale<float>&);
template double evaluate(const Tree&, const Epilogue&, Format, const double*, const double*, const Scale<double>&);
template void check(const Tree&, const Epilogue&, float, float);
template void check(const Tree&, const Epilogue&, double, double);

}  // namespace samebits::reference
