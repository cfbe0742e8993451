// SPDX-License-Identifier: Apache-2.0
#include "explain/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "samebits/order.h"

namespace samebits::explain {
namespace {

// (1 + e)^2 rounds down and leaves e^2, which only a fused multiply-add keeps.
template <class T>
const T e = std::ldexp(T(1), sizeof(T) == 4 ? -13 : -27);

enum class Ask { level, small_level, carry, join, product };

// Masks cancel each other and swallow what is added between. B holds `b` throughout.
struct Masks {
  int mask;  // exponents of A's values
  int unit;
  int b = 0;
};
// 2^100 in any accumulator up to double-double, 2^46 in float only. FP16 has no such range: its least subnormal beside its
// greatest power of two, which is enough for a float accumulator.
template <class T>
Masks masks(Ask ask, Format input) {
  if (input == Format::fp16) return {15, -24, 15};
  if (ask == Ask::level) return {sizeof(T) == 4 ? 100 : 900, 0};
  return {sizeof(T) == 4 ? 46 : ask == Ask::carry ? 60 : 100, 0};
}

template <class T>
class Classifier {
 public:
  Classifier(Caller<T>& caller, const Witness& witness, bool packed)
      : p_(caller.call()), caller_(caller), witness_(witness) {
    all_.packed = packed;
  }

  Classes run() {
    find();
    return std::move(all_);
  }

 private:
  // ---- questions ----

  // Writes a row of A for one question, `on`, or takes it back.
  void set_row(Ask ask, Index row, const Asked& x, bool on) const {
    T& first = caller_.a(row, first_of(x.pair));
    T& second = caller_.a(row, second_of(x.pair));
    switch (ask) {
      case Ask::level:
      case Ask::small_level:
        first = on ? mask_ : unit_, second = on ? -mask_ : unit_;
        return;
      case Ask::carry:
        first = on ? mask_ : T(0), second = on ? unit_ : T(0), caller_.a(row, x.third) = on ? -mask_ : T(0);
        return;
      case Ask::join:
        first = on ? -(1 + e<T>) : T(0), second = on ? 1 + e<T> : T(0);
        return;
      case Ask::product:
        first = on ? 1 + e<T> : T(0), second = on ? -(1 + 3 * e<T>) : T(0);
        return;
    }
  }
  int answer(Ask ask, T c) const {
    switch (ask) {
      case Ask::level:
      case Ask::small_level: {
        c /= unit_ * b_;
        const bool counts = c >= 0 && c <= static_cast<T>(p_.k - 2) && c == std::floor(c);
        return counts ? static_cast<int>(p_.k - static_cast<Index>(c)) : -1;
      }
      case Ask::carry:
        return c != 0;
      case Ask::join:
        return c > 0 ? 1 : c < 0 ? -1 : 0;
      case Ask::product: {  // (1 + 2e + e^2) - (1 + 4e + 3e^2), each product rounded or not
        const T e2 = e<T> * e<T>;
        return c == -2 * e<T> ? 3 : c == -2 * e<T> + e2 ? 2 : c == -2 * e<T> - 3 * e2 ? 1 : 0;
      }
    }
    return -1;
  }
  static void store(Ask ask, Class* x, const Asked& asked, int value) {
    switch (ask) {
      case Ask::level:
        if (value < 0) x->consistent = false;
        x->answers.levels[asked.pair] = static_cast<std::uint32_t>(value);
        return;
      case Ask::small_level:
        x->answers.small_levels[asked.pair] = static_cast<std::uint32_t>(value);
        return;
      case Ask::carry:
        x->answers.carries[asked.pair] = value != 0;
        return;
      case Ask::join:
        x->answers.joins[asked.pair] = value;
        return;
      case Ask::product:
        x->answers.products[asked.pair] = value;
        return;
    }
  }

  void fill(Ask question) {
    const auto x = masks<T>(question, witness_.input.format);
    mask_ = std::ldexp(T(1), x.mask), unit_ = std::ldexp(T(1), x.unit), b_ = std::ldexp(T(1), x.b);
    const bool ones = question == Ask::level || question == Ask::small_level;
    caller_.fill_a(ones ? unit_ : T(0));
    caller_.fill_b(ones || question == Ask::carry ? b_ : 1 + e<T>);
  }

  // Asks what each class needs; classes whose elements disagree are split. False: rows were packed and do not agree.
  bool ask(Ask question) {
    std::vector<Asked> asked;
    for (const auto& x : all_.list) asked.insert(asked.end(), x.needed.begin(), x.needed.end());
    std::sort(asked.begin(), asked.end());
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    if (asked.empty()) return true;
    fill(question);
    if (all_.packed) return ask_packed(question, asked);
    for (const auto& x : asked) {
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, x, true);
      caller_.run();
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, x, false);
      const std::size_t before = all_.list.size();
      for (std::size_t c = 0; c < before; ++c)
        if (std::find(all_.list[c].needed.begin(), all_.list[c].needed.end(), x) != all_.list[c].needed.end())
          split(question, c, x);
      if (all_.list.size() > max_classes) {
        all_.too_many = true;
        return true;
      }
    }
    return true;
  }

  // One mask in each row of A, the other in each column of B: every element of C answers for another pair. Rows take the
  // leaves that are likely pivots, the first ones and some spread over k; columns take all. Believed like all packed
  // answers: until replay.
  void ask_grid() {
    const auto k = static_cast<std::uint32_t>(p_.k);
    std::vector<std::uint32_t> pivots;
    const auto rows = static_cast<std::uint32_t>(std::min<Index>(p_.m, 64));
    for (std::uint32_t i = 0; i < rows / 2; ++i) pivots.push_back(i);
    for (std::uint32_t i = 0; i < rows / 2; ++i)
      pivots.push_back(static_cast<std::uint32_t>(std::uint64_t{i} * k / (rows / 2)));
    fill(Ask::level);
    for (Index i = 0; i < p_.m; ++i) caller_.a(i, pivots[static_cast<std::size_t>(i) % pivots.size()]) = mask_;
    for (Index first = 0; first < p_.k; first += p_.n) {
      caller_.fill_b(b_);
      const Index count = std::min(p_.n, p_.k - first);
      for (Index j = 0; j < count; ++j) caller_.b(first + j, j) = -mask_;
      caller_.run();
      for (std::size_t i = 0; i < pivots.size(); ++i)
        for (Index j = 0; j < count; ++j) {
          const auto leaf = static_cast<std::uint32_t>(first + j);
          if (leaf != pivots[i])
            store(Ask::level, &all_.list[0], {make_pair_of(pivots[i], leaf)},
                  answer(Ask::level, caller_.c(static_cast<Index>(i), j)));
        }
    }
  }

  bool ask_packed(Ask question, const std::vector<Asked>& asked) {
    for (std::size_t first = 0; first < asked.size(); first += static_cast<std::size_t>(p_.m)) {
      const auto count = std::min<std::size_t>(asked.size() - first, static_cast<std::size_t>(p_.m));
      // Rows left over repeat the last one: any row should give its answer.
      const auto asked_of = [&](Index i) -> const Asked& {
        return asked[first + std::min<std::size_t>(static_cast<std::size_t>(i), count - 1)];
      };
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, asked_of(i), true);
      caller_.run();
      for (Index i = 0; i < p_.m; ++i) {
        const int value = answer(question, caller_.c(i, 0));
        for (Index j = 1; j < p_.n; ++j)
          if (answer(question, caller_.c(i, j)) != value) return false;
        if (i < static_cast<Index>(count))
          store(question, &all_.list[0], asked_of(i), value);
        else if (value != answer(question, caller_.c(static_cast<Index>(count) - 1, 0)))
          return false;
        set_row(question, i, asked_of(i), false);
      }
    }
    return true;
  }

  void split(Ask question, std::size_t c, const Asked& asked) {
    std::map<int, std::vector<std::uint32_t>> groups;
    for (const auto element : all_.list[c].elements)
      groups[answer(question, caller_.c(element / p_.n, element % p_.n))].push_back(element);
    bool first = true;
    for (auto& [value, elements] : groups) {
      if (std::next(groups.begin()) != groups.end() && !first) all_.list.push_back(all_.list[c]);
      Class& x = first ? all_.list[c] : all_.list.back();
      first = false;
      x.elements = std::move(elements);
    }
    // Answers go in once all copies are made.
    std::size_t at = c;
    for (auto it = groups.begin(); it != groups.end(); ++it) {
      store(question, &all_.list[at], asked, it->first);
      at = it == groups.begin() ? all_.list.size() - (groups.size() - 1) : at + 1;
    }
  }
  // Fraction bits of a fused block that holds the three leaves: what survives of 255/256 beside +-2^23.
  std::optional<unsigned> fraction(const std::vector<std::uint32_t>& leaves, std::uint32_t element) {
    const T b = std::ldexp(T(1), 11), v = T(255) / 256;  // products of values that FP16 has
    caller_.fill_b(b);
    caller_.fill_a(T(0));
    for (Index i = 0; i < p_.m; ++i) {
      caller_.a(i, leaves[0]) = std::ldexp(T(1), 12);
      caller_.a(i, leaves[1]) = -std::ldexp(T(1), 12);
      caller_.a(i, leaves[2]) = v / b;
    }
    caller_.run();
    const T seen = caller_.c(element / p_.n, element % p_.n);
    for (unsigned f = 23; f <= 30; ++f) {
      const T unit = std::ldexp(T(1), 23 - static_cast<int>(f));
      if (seen == std::floor(v / unit) * unit) return f;
    }
    return std::nullopt;
  }

  // ---- structure ----

  static constexpr std::size_t max_classes = 256;

  void find() {
    all_.disagree = all_.too_many = false;
    all_.list.assign(1, {});
    all_.list[0].elements.resize(static_cast<std::size_t>(p_.m * p_.n));
    std::iota(all_.list[0].elements.begin(), all_.list[0].elements.end(), 0u);
    caller_.stage(all_.packed ? "structure, a pair a row" : "structure, a pair a call");
    if (all_.packed && p_.m >= 16 && p_.n >= 64 && p_.k >= 64) ask_grid();
    const auto k = static_cast<std::uint32_t>(p_.k);
    for (bool more = true; more;) {
      more = false;
      for (auto& x : all_.list) {
        x.needed.clear();
        if (!x.consistent || !x.structure.nodes.empty()) continue;
        if (swallows_nothing(x)) {
          x.exact = true;
          x.structure.nodes.push_back({0, static_cast<std::uint32_t>(p_.k), {}});
          continue;
        }
        if (all_at_once(&x)) continue;
        if (x.needed.empty()) {
          auto step = build_structure(k, x.answers.levels);
          for (const auto pair : step.needed) x.needed.push_back({pair});
          if (x.needed.empty()) {
            x.consistent = step.consistent;
            x.structure = std::move(step.structure);
          }
        }
        more |= !x.needed.empty();
      }
      if (!ask(Ask::level)) {
        all_.disagree = true;
        return;
      }
      if (all_.too_many) return;
    }
    find_joins();
    if (all_.disagree || all_.too_many) return;
    find_widths();
    if (all_.disagree || all_.too_many) return;
    for (std::size_t c = 0; c < all_.list.size(); ++c) finish(c);
  }

  // Every mask leaves all other products in the sum: nothing is rounded away, the sum is exact.
  bool swallows_nothing(const Class& x) const {
    const auto& levels = x.answers.levels;
    return p_.k > 2 && levels.size() + 1 >= static_cast<std::size_t>(p_.k) &&
           std::all_of(levels.begin(), levels.end(), [](const auto& l) { return l.second == 2; });
  }

  // Sums whose order cannot matter (exact, one wide block) answer K to every pair; they would need all K^2/2 of them.
  bool all_at_once(Class* x) {
    const auto k = static_cast<std::uint32_t>(p_.k);
    const auto& levels = x->answers.levels;
    if (k < 40 || levels.size() < k - 1) return false;
    for (const auto& [pair, level] : levels)
      if (level != k) return false;
    std::mt19937 engine(7);
    for (int i = 0; i < 24; ++i) {
      const auto a = engine() % (k - 1) + 1, b = engine() % (k - 1) + 1;
      if (a != b && levels.count(make_pair_of(a, b)) == 0) x->needed.push_back({make_pair_of(a, b)});
    }
    if (levels.count(make_pair_of(k - 2, k - 1)) == 0) x->needed.push_back({make_pair_of(k - 2, k - 1)});
    if (levels.size() < k + 8) return false;
    x->needed.clear();
    Structure s;
    for (std::uint32_t i = 0; i < k; ++i) s.nodes.push_back({i, 1, {}});
    s.nodes.push_back({0, k, {}});
    for (std::uint32_t i = 0; i < k; ++i) s.nodes.back().children.push_back(i);
    s.root = k;
    x->structure = std::move(s);
    return true;
  }

  void find_joins() {
    if (witness_.input.format != Format::none) return;  // products of rounded inputs are exact: fma and mul are one
    caller_.stage("how products join");
    for (auto& x : all_.list) {
      x.needed.clear();
      if (!x.consistent || x.exact || !x.structure.binary()) continue;
      for (const auto& [node, pair] : join_pairs(x.structure)) x.needed.push_back({pair});
    }
    auto& one = all_.list[0];
    const auto rows = static_cast<std::size_t>(p_.m);
    if (!all_.packed || one.needed.size() <= rows) {
      all_.disagree = !ask(Ask::join) && all_.packed;
      return;
    }
    // Where these are many: the places where chains begin, end or skip, and a call's worth of the others, spread over the
    // tree. When all agree the rest is taken to, and replay has the last word.
    const auto all = one.needed;
    if (all.size() > 16 * rows) {
      one.needed.clear();
      const auto pairs = join_pairs(one.structure);
      for (const auto& [node, pair] : pairs)
        if (!continues_chain(one.structure, node)) one.needed.push_back({pair});
      for (std::size_t i = 0; i < rows; ++i)
        one.needed.push_back({pairs[i * (pairs.size() - 1) / std::max<std::size_t>(1, rows - 1)].pair});
    }
    if (!ask(Ask::join)) {
      all_.disagree = true;
      return;
    }
    auto& joins = one.answers.joins;
    int fused = 0, separate = 0;
    for (const auto& [pair, join] : joins) join == 0 ? ++separate : ++fused;
    if (separate == 0) {
      for (const auto& [node, pair] : join_pairs(one.structure))
        if (joins.count(pair) == 0) joins[pair] = leaf_is_larger(one.structure, node) ? 1 : -1;
    } else if (fused > 0) {
      one.needed = all;
      all_.disagree = !ask(Ask::join);
    }
  }

  // A leaf on a sum of two or more leaves in arithmetic progression, of which it is the next.
  static bool continues_chain(const Structure& s, std::uint32_t node) {
    std::array<std::int64_t, 3> leaves{};  // the node's own, and those of the two sums below
    std::size_t count = 0;
    for (auto at = node; count < 3;) {
      const auto& c = s.nodes[at].children;
      if (s.nodes[at].is_leaf() || c.size() != 2) return false;
      const bool x = s.nodes[c[0]].is_leaf(), y = s.nodes[c[1]].is_leaf();
      if (!x && !y) return false;
      if (x && y) {
        leaves[count++] = std::max(s.nodes[c[0]].leaf, s.nodes[c[1]].leaf);
        if (count < 3) leaves[count++] = std::min(s.nodes[c[0]].leaf, s.nodes[c[1]].leaf);
        break;
      }
      leaves[count++] = s.nodes[x ? c[0] : c[1]].leaf;
      at = x ? c[1] : c[0];
    }
    return count == 3 && leaves[0] - leaves[1] == leaves[1] - leaves[2];
  }

  static bool leaf_is_larger(const Structure& s, std::uint32_t node) {
    const auto& c = s.nodes[node].children;
    if (s.nodes[c[0]].is_leaf() && s.nodes[c[1]].is_leaf()) return true;  // the seed is the smaller, as a rule
    const auto leaf = s.nodes[c[0]].is_leaf() ? c[0] : c[1], sum = leaf == c[0] ? c[1] : c[0];
    return s.nodes[leaf].leaf > s.smallest_leaf(sum);
  }

  // Does a mask that only float swallows give other levels at some nodes? Then every sum is asked whether it keeps more bits
  // than float has on its way to the next.
  void find_widths() {
    if (witness_.input.format == Format::fp16) return;  // there is one mask only
    caller_.stage("width of accumulators");
    for (auto& x : all_.list) {
      x.needed.clear();
      if (!x.consistent || x.exact) continue;
      const auto pairs = width_pairs(x.structure);
      const auto count = std::min<std::size_t>(pairs.size(), 6);
      for (std::size_t i = 0; i < count; ++i)
        x.needed.push_back({pairs[pairs.size() - 1 - i * (pairs.size() - 1) / std::max<std::size_t>(1, count - 1)].pair});
    }
    if (!ask(Ask::small_level)) {
      all_.disagree = true;
      return;
    }
    for (auto& x : all_.list) {
      x.needed.clear();
      if (!x.consistent || x.exact) continue;
      bool wide = false;
      for (const auto& [node, pair] : width_pairs(x.structure)) {
        const auto it = x.answers.small_levels.find(pair);
        wide |= it != x.answers.small_levels.end() && it->second != x.structure.nodes[node].size;
      }
      if (wide) x.needed = carry_questions(x.structure);
      all_.wide |= wide;
    }
    if (!all_.wide) return;
    all_.disagree = !ask(Ask::carry);
    for (auto& x : all_.list) {
      x.needed.clear();
      if (!x.consistent || x.exact) continue;
      for (const auto& [node, pair] : product_pairs(x.structure, x.answers)) x.needed.push_back({pair});
    }
    all_.disagree |= !ask(Ask::product);
  }

  void finish(std::size_t c) {
    Class& x = all_.list[c];
    if (!x.consistent) {
      x.why_not =
          "the answers are not those of any tree: the order depends on the values, or the sum is not one of rounded adds";
      return;
    }
    if (x.exact) {
      x.tree = Order::parse("exact").tree(static_cast<std::size_t>(p_.k));
      return;
    }
    const auto& s = x.structure;
    unsigned kept = 0;
    if (!s.binary()) {
      for (const auto& node : s.nodes) {
        std::vector<std::uint32_t> leaves;
        for (const auto child : node.children)
          if (s.nodes[child].is_leaf()) leaves.push_back(s.nodes[child].leaf);
        if (node.children.size() < 3 || leaves.size() < 3) continue;
        const auto f = fraction(leaves, x.elements[0]);
        if (f) {
          kept = *f;
        } else if (leaves.size() == static_cast<std::size_t>(p_.k)) {
          x.tree = Order::parse("exact").tree(static_cast<std::size_t>(p_.k));
          x.why_not.clear();
          return;
        } else {
          x.why_not = fmt::format("{} products are added at once and exactly", leaves.size());
          return;
        }
        break;
      }
    }
    const bool negative = witness_.negative[x.elements[0]] != 0;
    auto assembly = assemble(s, x.answers,
                             {kept, witness_.input.format != Format::none, negative,
                              !negative && witness_.negative_underflow[x.elements[0]] != 0});
    x.tree = std::move(assembly.tree);
    if (x.tree && witness_.input.format == Format::fp16)
      for (auto& node : x.tree->nodes)
        for (auto& item : node.items) item.emin = -14;  // its subnormals are not normalised before they are aligned
    x.why_not = assembly.why_not;
    if (assembly.block > 0)
      all_.blocks = fmt::format("products enter in fused blocks of {} with {} fraction bits kept: tensor-core arithmetic",
                                assembly.block, kept);
  }

  const ProbeCall& p_;
  Caller<T>& caller_;
  const Witness& witness_;
  Classes all_;
  T mask_ = 0, unit_ = 1, b_ = 1;  // of the question that is being asked
};

}  // namespace

template <class T>
Classes classify(Caller<T>& caller, const Witness& witness, bool packed) {
  return Classifier<T>(caller, witness, packed).run();
}

template Classes classify(Caller<float>&, const Witness&, bool);
template Classes classify(Caller<double>&, const Witness&, bool);

}  // namespace samebits::explain
