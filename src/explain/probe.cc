// SPDX-License-Identifier: Apache-2.0
// Probe, replay, refine. docs/probing.md tells the method.
#include "samebits/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>

#include "explain/assemble.h"
#include "explain/caller.h"
#include "explain/compare.h"
#include "explain/cover.h"
#include "explain/predict.h"
#include "explain/recognise.h"
#include "reference/reference.h"
#include "samebits/gemm.h"

namespace samebits {
namespace explain {
namespace {

// Masks cancel each other and swallow what is added between: 2^100 in any accumulator up to double-double, 2^46 in float only.
template <class T>
constexpr int big_mask = sizeof(T) == 4 ? 100 : 900;
template <class T>
constexpr int small_mask = sizeof(T) == 4 ? 46 : 100;
// (1 + e)^2 rounds down and leaves e^2, which only a fused multiply-add keeps.
template <class T>
const T e = std::ldexp(T(1), sizeof(T) == 4 ? -13 : -27);

enum class Ask { level, small_level, join, product };

// Elements that have answered every question alike.
struct Class {
  std::vector<std::uint32_t> elements;
  Answers answers;
  std::vector<Pair> needed;
  bool consistent = true;
  std::string why_not;
  Structure structure;
  unsigned block = 0;
  bool exact = false;
  std::optional<Tree> tree;
};

template <class T>
class Prober {
 public:
  Prober(Backend& backend, const ProbeCall& call, const ProbeOptions& options)
      : p_(call), options_(options), caller_(backend, call, options.max_calls) {
    result_.backend = backend.name();
    result_.call = call;
    result_.elements = p_.m * p_.n;
  }

  ProbeResult run() {
    // Data set 1, twice: an order that changes from run to run is no order.
    caller_.fill_random(options_.seed);
    caller_.run();
    first_ = caller_.result();
    caller_.run();
    Index changed = 0;
    for (std::size_t i = 0; i < first_.size(); ++i) changed += !same_bits(first_[i], caller_.result_at(i));
    if (changed > 0) {
      result_.status = ProbeResult::Status::not_deterministic;
      result_.notes.push_back(fmt::format("the same call gave other bits in {} of {} elements the second time: a random order, or "
                                          "threads that race", changed, result_.elements));
      result_.calls = caller_.calls();
      return std::move(result_);
    }
    caller_.fill_random(options_.seed + 1);
    caller_.run();
    second_ = caller_.result();

    witness();
    if (p_.m > 1) packed_ = true;
    find();
    if (packed_ && (failed_packing_ || !replay())) {
      packed_ = false;
      find();
    }
    if (!packed_) replay();
    conclude();
    if (options_.epilogue) epilogue();
    result_.calls = caller_.calls();
    return std::move(result_);
  }

 private:
  // ---- questions ----

  // Writes the rows of A for one pair, `on`, or takes it back.
  void set_row(Ask ask, Index row, Pair pair, bool on) const {
    T& x = caller_.a(row, first_of(pair));
    T& y = caller_.a(row, second_of(pair));
    switch (ask) {
      case Ask::level:
      case Ask::small_level: {
        const T mask = std::ldexp(T(1), ask == Ask::level ? big_mask<T> : small_mask<T>);
        x = on ? mask : T(1), y = on ? -mask : T(1);
        return;
      }
      case Ask::join: x = on ? -(1 + e<T>) : T(0), y = on ? 1 + e<T> : T(0); return;
      case Ask::product: x = on ? 1 + e<T> : T(0), y = on ? -(1 + 3 * e<T>) : T(0); return;
    }
  }
  int answer(Ask ask, T c) const {
    switch (ask) {
      case Ask::level:
      case Ask::small_level: {
        const bool counts = c >= 0 && c <= static_cast<T>(p_.k - 2) && c == std::floor(c);
        return counts ? static_cast<int>(p_.k - static_cast<Index>(c)) : -1;
      }
      case Ask::join: return c > 0 ? 1 : c < 0 ? -1 : 0;
      case Ask::product: {  // (1 + 2e + e^2) - (1 + 4e + 3e^2), each product rounded or not
        const T e2 = e<T> * e<T>;
        return c == -2 * e<T> ? 3 : c == -2 * e<T> + e2 ? 2 : c == -2 * e<T> - 3 * e2 ? 1 : 0;
      }
    }
    return -1;
  }
  static void store(Ask ask, Class* x, Pair pair, int value) {
    switch (ask) {
      case Ask::level:
        if (value < 0) x->consistent = false;
        x->answers.levels[pair] = static_cast<std::uint32_t>(value);
        return;
      case Ask::small_level: x->answers.small_levels[pair] = static_cast<std::uint32_t>(value); return;
      case Ask::join: x->answers.joins[pair] = value; return;
      case Ask::product: x->answers.products[pair] = value; return;
    }
  }

  // Asks what each class needs; classes whose elements disagree are split. False: rows were packed and do not agree.
  bool ask(Ask question) {
    std::vector<Pair> pairs;
    for (const auto& x : classes_) pairs.insert(pairs.end(), x.needed.begin(), x.needed.end());
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    if (pairs.empty()) return true;
    const bool masks = question == Ask::level || question == Ask::small_level;
    caller_.fill_a(masks ? T(1) : T(0));
    caller_.fill_b(masks ? T(1) : 1 + e<T>);
    if (packed_) return ask_packed(question, pairs);
    for (const auto pair : pairs) {
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, pair, true);
      caller_.run();
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, pair, false);
      progress();
      const std::size_t before = classes_.size();
      for (std::size_t c = 0; c < before; ++c)
        if (std::find(classes_[c].needed.begin(), classes_[c].needed.end(), pair) != classes_[c].needed.end())
          split(question, c, pair);
      if (classes_.size() > max_classes) {
        too_many_ = true;
        return true;
      }
    }
    return true;
  }

  // One mask in each row of A, the other in each column of B: every element of C answers for another pair. Rows take the
  // leaves that are likely pivots, the first ones and some spread over k; columns take all. Believed like all packed answers:
  // until replay.
  void ask_grid() {
    const auto k = static_cast<std::uint32_t>(p_.k);
    std::vector<std::uint32_t> pivots;
    const auto rows = static_cast<std::uint32_t>(std::min<Index>(p_.m, 64));
    for (std::uint32_t i = 0; i < rows / 2; ++i) pivots.push_back(i);
    for (std::uint32_t i = 0; i < rows / 2; ++i) pivots.push_back(static_cast<std::uint32_t>(std::uint64_t{i} * k / (rows / 2)));
    const T mask = std::ldexp(T(1), big_mask<T>);
    caller_.fill_a(T(1));
    for (Index i = 0; i < p_.m; ++i) caller_.a(i, pivots[static_cast<std::size_t>(i) % pivots.size()]) = mask;
    for (Index first = 0; first < p_.k; first += p_.n) {
      caller_.fill_b(T(1));
      const Index count = std::min(p_.n, p_.k - first);
      for (Index j = 0; j < count; ++j) caller_.b(first + j, j) = -mask;
      caller_.run();
      progress();
      for (std::size_t i = 0; i < pivots.size(); ++i)
        for (Index j = 0; j < count; ++j) {
          const auto leaf = static_cast<std::uint32_t>(first + j);
          if (leaf != pivots[i]) store(Ask::level, &classes_[0], make_pair_of(pivots[i], leaf), answer(Ask::level, caller_.c(static_cast<Index>(i), j)));
        }
    }
  }

  bool ask_packed(Ask question, const std::vector<Pair>& pairs) {
    for (std::size_t first = 0; first < pairs.size(); first += static_cast<std::size_t>(p_.m)) {
      const auto count = std::min<std::size_t>(pairs.size() - first, static_cast<std::size_t>(p_.m));
      // Rows left over repeat the last pair: any row should give its answer.
      const auto pair_of = [&](Index i) { return pairs[first + std::min<std::size_t>(static_cast<std::size_t>(i), count - 1)]; };
      for (Index i = 0; i < p_.m; ++i) set_row(question, i, pair_of(i), true);
      caller_.run();
      progress();
      for (Index i = 0; i < p_.m; ++i) {
        const int value = answer(question, caller_.c(i, 0));
        for (Index j = 1; j < p_.n; ++j)
          if (answer(question, caller_.c(i, j)) != value) return false;
        if (i < static_cast<Index>(count))
          store(question, &classes_[0], pair_of(i), value);
        else if (value != answer(question, caller_.c(static_cast<Index>(count) - 1, 0)))
          return false;
        set_row(question, i, pair_of(i), false);
      }
    }
    return true;
  }

  void split(Ask question, std::size_t c, Pair pair) {
    std::map<int, std::vector<std::uint32_t>> groups;
    for (const auto element : classes_[c].elements)
      groups[answer(question, caller_.c(element / p_.n, element % p_.n))].push_back(element);
    bool first = true;
    for (auto& [value, elements] : groups) {
      if (std::next(groups.begin()) != groups.end() && !first) classes_.push_back(classes_[c]);
      Class& x = first ? classes_[c] : classes_.back();
      first = false;
      x.elements = std::move(elements);
    }
    // Answers go in once all copies are made.
    std::size_t at = c;
    for (auto it = groups.begin(); it != groups.end(); ++it) {
      store(question, &classes_[at], pair, it->first);
      at = it == groups.begin() ? classes_.size() - (groups.size() - 1) : at + 1;
    }
  }

  // ---- rounding of inputs, results and subnormals, from single products ----

  // Each entry: up to two values of A (others 0) against B = 1; its sum as element (r, 0) of some row sees it.
  std::vector<T> sums(const std::vector<std::array<T, 2>>& rows) {
    std::vector<T> out;
    caller_.fill_b(T(1));
    for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(p_.m)) {
      caller_.fill_a(T(0));
      const auto count = std::min<std::size_t>(rows.size() - first, static_cast<std::size_t>(p_.m));
      for (std::size_t i = 0; i < count; ++i) {
        caller_.a(static_cast<Index>(i), 0) = rows[first + i][0];
        if (p_.k > 1) caller_.a(static_cast<Index>(i), p_.k - 1) = rows[first + i][1];
      }
      caller_.run();
      for (std::size_t i = 0; i < count; ++i) out.push_back(caller_.c(static_cast<Index>(i), 0));
    }
    return out;
  }

  void witness() {
    progress("rounding");
    const T tiny = std::numeric_limits<T>::min();
    std::vector<std::array<T, 2>> rows;
    // Ties and near-ties of 8 and 11 significant bits, both signs; then the sum of two representable values.
    for (const int bits : {8, 11})
      for (const T sign : {T(1), T(-1)})
        for (const T odd : {T(1), T(3)})
          for (const T more : {T(-1), T(0), T(1)}) {
            const T half = std::ldexp(T(1), -bits);
            rows.push_back({sign * (1 + odd * half + more * std::ldexp(half, -6)), T(0)});
          }
    const std::size_t inputs = rows.size();
    rows.push_back({T(1), std::ldexp(T(1), -12)});
    rows.push_back({T(1), std::ldexp(T(1), -9)});
    rows.push_back({tiny / 2, T(0)});
    rows.push_back({tiny + tiny / 2, -tiny});
    const auto seen = sums(rows);

    const std::array<InputRounding, 8> candidates{{{Format::none, Rounding::rne},
                                                   {Format::tf32, Rounding::rna},
                                                   {Format::tf32, Rounding::rne},
                                                   {Format::tf32, Rounding::rz},
                                                   {Format::bf16, Rounding::rne},
                                                   {Format::fp16, Rounding::rne},
                                                   {Format::bf16, Rounding::rz},
                                                   {Format::fp16, Rounding::rz}}};
    bool found = false;
    for (const auto& candidate : candidates) {
      bool fits = true;
      for (std::size_t i = 0; i < inputs; ++i)
        fits &= seen[i] == reference::round_to(candidate.format, candidate.rounding, rows[i][0]);
      if (!fits) continue;
      input_ = candidate;
      found = true;
      break;
    }
    if (!found) result_.notes.push_back("single products come back rounded in a way that no input format explains");
    if (p_.k > 1 && seen[inputs] != rows[inputs][0] + rows[inputs][1]) {
      out_ = seen[inputs + 1] == T(1) ? Format::bf16 : Format::fp16;
      result_.notes.push_back(fmt::format("results are rounded to {} (or accumulated in it)", out_ == Format::bf16 ? "bf16" : "fp16"));
      // What looked like rounded inputs may be the rounded result.
      if (input_.format == out_) input_ = {};
    }
    if (input_.format == Format::none && out_ == Format::none) {
      result_.flushes_subnormal_results = p_.k > 1 && seen[inputs + 3] == 0;
      result_.flushes_subnormal_inputs = seen[inputs + 2] == 0 && !result_.flushes_subnormal_results;
    }

    caller_.fill_a(T(-0.0));
    caller_.run();
    negative_.assign(static_cast<std::size_t>(result_.elements), 0);
    for (std::size_t i = 0; i < negative_.size(); ++i) negative_[i] = std::signbit(caller_.result_at(i));
  }

  // Fraction bits of a fused block that holds the three leaves: what survives of 255/256 beside +-2^23.
  std::optional<unsigned> fraction(const std::vector<std::uint32_t>& leaves, std::uint32_t element) {
    caller_.fill_b(T(1));
    caller_.fill_a(T(0));
    const T v = T(255) / 256;
    for (Index i = 0; i < p_.m; ++i) {
      caller_.a(i, leaves[0]) = std::ldexp(T(1), 23);
      caller_.a(i, leaves[1]) = -std::ldexp(T(1), 23);
      caller_.a(i, leaves[2]) = v;
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
    failed_packing_ = too_many_ = false;
    classes_.assign(1, {});
    classes_[0].elements.resize(static_cast<std::size_t>(result_.elements));
    std::iota(classes_[0].elements.begin(), classes_[0].elements.end(), 0u);
    progress(packed_ ? "structure, a pair a row" : "structure, a pair a call");
    if (packed_ && p_.m >= 16 && p_.n >= 64 && p_.k >= 64) ask_grid();
    const auto k = static_cast<std::uint32_t>(p_.k);
    for (bool more = true; more;) {
      more = false;
      for (auto& x : classes_) {
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
          x.needed = std::move(step.needed);
          if (x.needed.empty()) {
            x.consistent = step.consistent;
            x.structure = std::move(step.structure);
          }
        }
        more |= !x.needed.empty();
      }
      if (!ask(Ask::level)) {
        failed_packing_ = true;
        return;
      }
      if (too_many_) return;
    }
    find_joins();
    if (failed_packing_ || too_many_) return;
    find_widths();
    if (failed_packing_ || too_many_) return;
    for (std::size_t c = 0; c < classes_.size(); ++c) finish(c);
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
      if (a != b && levels.count(make_pair_of(a, b)) == 0) x->needed.push_back(make_pair_of(a, b));
    }
    if (levels.count(make_pair_of(k - 2, k - 1)) == 0) x->needed.push_back(make_pair_of(k - 2, k - 1));
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
    if (input_.format != Format::none) return;  // products of rounded inputs are exact: fma and mul are one
    progress("how products join");
    for (auto& x : classes_) {
      x.needed.clear();
      if (!x.consistent || x.exact || !x.structure.binary()) continue;
      for (const auto& [node, pair] : join_pairs(x.structure)) x.needed.push_back(pair);
    }
    auto& one = classes_[0];
    const auto rows = static_cast<std::size_t>(p_.m);
    if (!packed_ || one.needed.size() <= rows) {
      failed_packing_ = !ask(Ask::join) && packed_;
      return;
    }
    // One call's worth first, spread over the tree; when all agree the rest is taken to, and replay has the last word.
    const auto all = one.needed;
    one.needed.clear();
    for (std::size_t i = 0; i < rows; ++i) one.needed.push_back(all[i * all.size() / rows]);
    if (!ask(Ask::join)) {
      failed_packing_ = true;
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
      failed_packing_ = !ask(Ask::join);
    }
  }

  static bool leaf_is_larger(const Structure& s, std::uint32_t node) {
    const auto& c = s.nodes[node].children;
    if (s.nodes[c[0]].is_leaf() && s.nodes[c[1]].is_leaf()) return true;  // the seed is the smaller, as a rule
    const auto leaf = s.nodes[c[0]].is_leaf() ? c[0] : c[1], sum = leaf == c[0] ? c[1] : c[0];
    return s.nodes[leaf].leaf > s.smallest_leaf(sum);
  }

  // Does a mask that only float swallows give other levels? First a few nodes, then all where one does.
  void find_widths() {
    progress("width of accumulators");
    for (const bool all : {false, true}) {
      bool any = false;
      for (auto& x : classes_) {
        x.needed.clear();
        if (!x.consistent || x.exact) continue;
        const auto pairs = width_pairs(x.structure);
        bool wide = false;
        if (all)
          for (const auto& [node, pair] : pairs) {
            const auto it = x.answers.small_levels.find(pair);
            wide |= it != x.answers.small_levels.end() && it->second != x.structure.nodes[node].size;
          }
        if (all && !wide) continue;
        const std::size_t count = all ? pairs.size() : std::min<std::size_t>(pairs.size(), 6);
        for (std::size_t i = 0; i < count; ++i) {
          const auto pair = pairs[all ? i : pairs.size() - 1 - i * (pairs.size() - 1) / std::max<std::size_t>(1, count - 1)].pair;
          if (x.answers.small_levels.count(pair) == 0) x.needed.push_back(pair);
        }
        any |= wide;
      }
      if (!ask(Ask::small_level)) {
        failed_packing_ = true;
        return;
      }
      if (all && any) {
        wide_ = true;
        find_products();
      }
    }
  }

  void find_products() {
    for (auto& x : classes_) {
      x.needed.clear();
      if (!x.consistent || x.exact) continue;
      for (const auto& [node, pair] : product_pairs(x.structure, x.answers)) x.needed.push_back(pair);
    }
    if (!ask(Ask::product)) failed_packing_ = true;
  }

  void finish(std::size_t c) {
    Class& x = classes_[c];
    if (!x.consistent) {
      x.why_not = "the answers are not those of any tree: the order depends on the values, or the sum is not one of rounded adds";
      return;
    }
    if (x.exact) {
      x.tree = Order::parse("exact").tree(static_cast<std::size_t>(p_.k));
      return;
    }
    const bool negative = negative_[x.elements[0]] != 0;
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
    auto assembly = assemble(s, x.answers, kept, input_.format != Format::none || p_.k == 1, negative);
    x.block = assembly.block;
    x.tree = std::move(assembly.tree);
    x.why_not = assembly.why_not;
    if (x.block > 0)
      block_note_ = fmt::format("products enter in fused blocks of {} with {} fraction bits kept: tensor-core arithmetic", x.block, kept);
  }

  // ---- replay ----

  // True when every element is reproduced on both data sets. Elements are judged one by one.
  bool replay() {
    progress("replay");
    good_.assign(static_cast<std::size_t>(result_.elements), 1);
    const auto k = static_cast<std::size_t>(p_.k);
    for (const int set : {0, 1}) {
      caller_.fill_random(options_.seed + static_cast<std::uint64_t>(set));
      gather();
      const auto& seen = set == 0 ? first_ : second_;
      for (const auto& x : classes_) {
        const std::size_t stride = replay_by_kernel(x, seen) ? x.elements.size() / 256 + 1 : 1;
        for (std::size_t i = 0; i < x.elements.size(); i += stride) {
          const auto element = x.elements[i];
          if (good_[element] == 0) continue;
          const T* a = rows_.data() + element / static_cast<std::uint32_t>(p_.n) * k;
          const T* b = columns_.data() + element % static_cast<std::uint32_t>(p_.n) * k;
          good_[element] = x.tree && same_bits(reference::round_to(out_, Rounding::rne, reference::evaluate(*x.tree, a, b)), seen[element]);
        }
      }
      if (packed_ && std::find(good_.begin(), good_.end(), 0) != good_.end()) return false;
    }
    return std::find(good_.begin(), good_.end(), 0) == good_.end();
  }

  // A class too large for scalar code is replayed by this library's kernel for its order (the reference then looks at some
  // elements). False: there is none.
  bool replay_by_kernel(const Class& x, const std::vector<T>& seen) {
    if (!x.tree || static_cast<double>(x.elements.size()) * static_cast<double>(p_.k) < 3e7 || out_ != Format::none) return false;
    const auto order = is_program(*x.tree) ? recognise(*x.tree) : std::nullopt;
    if (!order) return false;
    std::vector<T> c(good_.size());
    gemm(T(1), row_major<const T>(rows_.data(), p_.m, p_.k), row_major<const T>(columns_.data(), p_.n, p_.k).transposed(), T(0),
         row_major(c.data(), p_.m, p_.n), *order, {static_cast<int>(std::thread::hardware_concurrency()), ""});
    for (const auto element : x.elements)
      if (!same_bits(c[element], seen[element])) good_[element] = 0;
    return true;
  }

  // Rows of A and columns of B, rounded as the inputs are.
  void gather() {
    const auto k = static_cast<std::size_t>(p_.k);
    rows_.resize(static_cast<std::size_t>(p_.m) * k);
    columns_.resize(static_cast<std::size_t>(p_.n) * k);
    for (Index i = 0; i < p_.m; ++i)
      for (Index q = 0; q < p_.k; ++q)
        rows_[static_cast<std::size_t>(i) * k + static_cast<std::size_t>(q)] = reference::round_to(input_.format, input_.rounding, caller_.a(i, q));
    for (Index j = 0; j < p_.n; ++j)
      for (Index q = 0; q < p_.k; ++q)
        columns_[static_cast<std::size_t>(j) * k + static_cast<std::size_t>(q)] = reference::round_to(input_.format, input_.rounding, caller_.b(q, j));
  }

  // ---- conclusion ----

  void conclude() {
    progress("recognition");
    result_.reproduced = std::count(good_.begin(), good_.end(), 1);
    result_.status = result_.reproduced == result_.elements ? ProbeResult::Status::reproduced
                     : result_.reproduced > 0               ? ProbeResult::Status::partly_reproduced
                                                            : ProbeResult::Status::not_reproduced;
    if (wide_) result_.notes.push_back("some sums are accumulated in more than " + std::string(sizeof(T) == 4 ? "float32" : "float64"));
    if (!block_note_.empty()) result_.notes.push_back(block_note_);
    if (too_many_) result_.notes.push_back("elements of C answer in too many ways: the order depends on the values or is random");
    for (const auto& x : classes_) {
      const auto& notes = result_.notes;
      if (!x.why_not.empty() && std::find(notes.begin(), notes.end(), x.why_not) == notes.end()) result_.notes.push_back(x.why_not);
    }
    if (result_.reproduced < result_.elements) explain_failure();

    // Classes with one tree are one region.
    std::map<Tree::Hash, std::size_t> by_tree;
    std::vector<Order> orders;
    std::vector<std::uint32_t> label(static_cast<std::size_t>(result_.elements), 0);
    for (const auto& x : classes_) {
      if (!x.tree) continue;
      Index good = 0;
      for (const auto element : x.elements) good += good_[element];
      if (good == 0) continue;
      const auto [it, fresh] = by_tree.try_emplace(x.tree->hash(), orders.size());
      if (fresh) {
        const auto plain = recognise(*x.tree);
        if (!plain) {
          result_.notes.push_back("the order language cannot write the tree " + x.tree->text());
          by_tree.erase(it);
          continue;
        }
        orders.push_back(with_settings(*plain, {}));
        const auto at = *std::min_element(x.elements.begin(), x.elements.end());
        result_.regions.push_back({orders.back(), x.tree->text(), 0, at / p_.n, at % p_.n});
        region_trees_.push_back(*x.tree);
      }
      auto& region = result_.regions[it->second];
      region.elements += static_cast<Index>(x.elements.size());
      for (const auto element : x.elements) {
        label[element] = static_cast<std::uint32_t>(it->second);
        if (static_cast<Index>(element) < region.row * p_.n + region.col) region.row = element / p_.n, region.col = element % p_.n;
      }
    }
    if (result_.regions.empty()) return;
    label_ = label;
    compose();
  }

  // The whole order from the regions; the most common is `rest`.
  void compose() {
    std::size_t rest = 0;
    for (std::size_t i = 0; i < result_.regions.size(); ++i)
      if (result_.regions[i].elements > result_.regions[rest].elements) rest = i;
    if (result_.regions.size() == 1) {
      result_.order = result_.regions[0].order;
      return;
    }
    std::vector<Region> list;
    for (const auto& patch : cover(label_, p_.m, p_.n, static_cast<std::uint32_t>(rest)))
      list.push_back({patch.rows, patch.cols, result_.regions[patch.label].order});
    result_.order = Order::with_regions(std::move(list), result_.regions[rest].order);
  }

  Order with_settings(const Order& plain, const std::string& epilogue) const {
    static constexpr std::array formats{"", "tf32", "bf16", "fp16"};
    static constexpr std::array roundings{"rne", "rna", "rz", "rz, raw"};
    std::string text;
    if (out_ != Format::none) text += fmt::format("out({}) > ", formats[static_cast<std::size_t>(out_)]);
    if (!epilogue.empty()) text += epilogue + " > ";
    if (input_.format != Format::none)
      text += fmt::format("{}({}) > ", formats[static_cast<std::size_t>(input_.format)], roundings[static_cast<std::size_t>(input_.rounding)]);
    return Order::parse(text + plain.text());
  }

  void explain_failure() {
    // Is the result better than any sum of rounded adds would be? Then it is compensated, or accumulated wider.
    caller_.fill_random(options_.seed);
    gather();
    const auto k = static_cast<std::size_t>(p_.k);
    Index values = 0;
    double error = 0, tree_error = 0;  // summed over elements
    for (const auto& x : classes_)
      for (const auto element : x.elements) {
        if (good_[element] || !x.tree || values == 400) continue;
        const T* a = rows_.data() + element / static_cast<std::uint32_t>(p_.n) * k;
        const T* b = columns_.data() + element % static_cast<std::uint32_t>(p_.n) * k;
        const double best = reference::exact_dot(a, b, k);
        ++values;
        error += std::abs(static_cast<double>(first_[element]) - best);
        tree_error += std::abs(static_cast<double>(reference::evaluate(*x.tree, a, b)) - best);
      }
    result_.notes.push_back(fmt::format("{} elements are not reproduced: not a fixed tree of rounded adds", result_.elements - result_.reproduced));
    if (values > 0 && error * 2 < tree_error)
      result_.notes.push_back(fmt::format("their mean error is {:.2g}, that of the tree that masked calls show {:.2g}: a compensated sum, or a wider accumulator",
                                          error / static_cast<double>(values), tree_error / static_cast<double>(values)));
    else if (std::any_of(classes_.begin(), classes_.end(), [](const Class& x) { return x.consistent && x.tree; }))
      result_.notes.push_back("masked calls do give a tree, so the order may depend on the values (zeros skipped, say)");
  }

  // ---- alpha and beta ----

  void epilogue() {
    if (result_.status != ProbeResult::Status::reproduced || result_.regions.empty()) return;
    progress("alpha and beta");
    struct Test {
      T alpha, beta;
      const char* words;
    };
    const std::array<Test, 3> tests{{{T(1.7), T(0), "alpha"}, {T(1), T(1), "C added (beta = 1, a bias)"}, {T(1.7), T(-0.6), "alpha and beta"}}};
    std::vector<Epilogue> left;
    for (const auto alpha : {Epilogue::Alpha::end, Epilogue::Alpha::block, Epilogue::Alpha::a})
      for (const auto c : {Epilogue::C::last, Epilogue::C::first, Epilogue::C::seed})
        for (const bool fused : {false, true}) left.push_back({alpha, c, fused});
    std::vector<Tree> trees;
    for (const auto& region : result_.regions) trees.push_back(region.order.tree(static_cast<std::size_t>(p_.k)));
    std::vector<std::string> unmatched;
    for (const auto& test : tests) {
      caller_.fill_random(options_.seed + 2);
      gather();
      std::mt19937_64 engine(options_.seed + 3);
      std::normal_distribution<double> normal;
      std::vector<T> old;
      for (Index i = 0; i < p_.m; ++i)
        for (Index j = 0; j < p_.n; ++j) old.push_back(caller_.c(i, j) = static_cast<T>(normal(engine)));
      try {
        caller_.run(test.alpha, test.beta);
      } catch (const Error& error) {
        if (error.code() != Code::unsupported) throw;
        result_.epilogue = fmt::format("alpha and beta: {}", error.what());
        return;
      }
      std::vector<Epilogue> fit;
      for (const auto& candidate : left)
        if (fits(candidate, trees, test.alpha, test.beta, old)) fit.push_back(candidate);
      if (!fit.empty())
        left = std::move(fit);
      else if (test.alpha != 1 && test.beta != 0 && unmatched.empty() && beta_fused(trees, test.alpha, test.beta, old))
        beta_is_fused_ = true;
      else
        unmatched.push_back(test.words);
    }
    const auto chosen = left.front();
    const auto words = chosen == Epilogue{} ? std::string() : epilogue_text(chosen);
    result_.epilogue = unmatched.size() == tests.size() ? "" : words_of(chosen, unmatched);
    if (beta_is_fused_) result_.epilogue += "; beta*C is added by one fma, which the order language does not write";
    for (const auto& what : unmatched)
      result_.epilogue += fmt::format("{}{}: not reproduced, another order or epilogue runs then", result_.epilogue.empty() ? "" : "; ", what);
    if (!words.empty() && unmatched.size() < tests.size()) {
      for (auto& region : result_.regions) region.order = with_settings_again(region.order, words);
      compose();
    }
  }

  static std::string epilogue_text(const Epilogue& x) {
    std::vector<std::string> parts;
    if (x.alpha != Epilogue::Alpha::end) parts.push_back(x.alpha == Epilogue::Alpha::a ? "alpha=a" : "alpha=block");
    if (x.c != Epilogue::C::last) parts.push_back(x.c == Epilogue::C::first ? "c=first" : "c=seed");
    if (x.fused) parts.push_back("fused");
    return fmt::format("epilogue({})", fmt::join(parts, ", "));
  }
  // Says nothing about what was not reproduced.
  static std::string words_of(const Epilogue& x, const std::vector<std::string>& unmatched) {
    const auto missed = [&](std::string_view what) { return std::any_of(unmatched.begin(), unmatched.end(), [&](const auto& u) { return u.rfind(what, 0) == 0 && u.find(" and ") == std::string::npos; }); };
    std::string out;
    if (!missed("alpha")) out += fmt::format("alpha {}", alpha_words(x));
    if (!missed("C added")) out += fmt::format("{}C {}", out.empty() ? "" : ", ", c_words(x));
    return out + (x.fused && !out.empty() ? ", fused" : "");
  }
  static const char* alpha_words(const Epilogue& x) {
    return x.alpha == Epilogue::Alpha::end ? "at the end" : x.alpha == Epilogue::Alpha::a ? "on A" : "on each piece";
  }
  static const char* c_words(const Epilogue& x) {
    return x.c == Epilogue::C::last ? "added last" : x.c == Epilogue::C::first ? "first" : "the start of the first chain";
  }
  // The region's order holds input and output stages already: the epilogue goes behind out(...).
  Order with_settings_again(const Order& order, const std::string& epilogue) const {
    auto text = order.text();
    std::size_t at = 0;
    if (text.rfind("out(", 0) == 0) at = text.find(" > ") + 3;
    return Order::parse(text.substr(0, at) + epilogue + " > " + text.substr(at));
  }

  // fma(beta, C, alpha*AB)?
  bool beta_fused(const std::vector<Tree>& trees, T alpha, T beta, const std::vector<T>& old) const {
    const auto k = static_cast<std::size_t>(p_.k);
    for (std::size_t i = 0; i < old.size(); ++i) {
      const T t = reference::evaluate(trees[label_[i]], rows_.data() + i / static_cast<std::size_t>(p_.n) * k,
                                      columns_.data() + i % static_cast<std::size_t>(p_.n) * k);
      if (!same_bits(std::fma(beta, old[i], alpha * t), caller_.result_at(i))) return false;
    }
    return true;
  }

  bool fits(const Epilogue& candidate, const std::vector<Tree>& trees, T alpha, T beta, const std::vector<T>& old) const {
    const auto k = static_cast<std::size_t>(p_.k);
    const std::size_t stride = std::max<std::size_t>(1, old.size() / 500);
    try {
      for (std::size_t i = 0; i < old.size(); i += stride) {
        reference::Scale<T> scale;
        scale.alpha = alpha, scale.beta = beta, scale.c = old[i];
        const T want = reference::evaluate(trees[label_[i]], candidate, out_, rows_.data() + i / static_cast<std::size_t>(p_.n) * k,
                                           columns_.data() + i % static_cast<std::size_t>(p_.n) * k, scale);
        if (!same_bits(want, caller_.result_at(i))) return false;
      }
    } catch (const Error&) {  // this order has no such epilogue
      return false;
    }
    return true;
  }

  void progress(std::string stage = {}) {
    if (!stage.empty()) stage_ = std::move(stage);
    if (options_.progress) options_.progress(stage_, caller_.calls());
  }

  ProbeCall p_;
  ProbeOptions options_;
  Caller<T> caller_;
  ProbeResult result_;
  std::string stage_;
  std::vector<T> first_, second_, rows_, columns_;
  std::vector<char> negative_, good_;
  InputRounding input_;
  Format out_ = Format::none;
  bool packed_ = false, failed_packing_ = false, too_many_ = false, wide_ = false, beta_is_fused_ = false;
  std::string block_note_;
  std::vector<Class> classes_;
  std::vector<std::uint32_t> label_;
  std::vector<Tree> region_trees_;
};

}  // namespace
}  // namespace explain

ProbeResult probe(Backend& backend, const ProbeCall& call, const ProbeOptions& options) {
  if (call.m < 1 || call.n < 1 || call.k < 1)
    throw Error(Code::invalid_argument, "probe: m, n and k must be at least 1");
  if (call.k > (Index{1} << 22)) throw Error(Code::invalid_argument, "probe: k can be at most 2^22");
  if (call.m * call.n > (Index{1} << 31)) throw Error(Code::invalid_argument, "probe: at most 2^31 elements of C");
  if (!backend.supports(call.dtype))
    throw Error(Code::unsupported, backend.name() + (call.dtype == DType::f32 ? " has no float32" : " has no float64"));
  auto result = call.dtype == DType::f32 ? explain::Prober<float>(backend, call, options).run()
                                         : explain::Prober<double>(backend, call, options).run();
  if (result.ok() && !result.regions.empty()) result.profiles = explain::predicting_profiles(result.backend, call, result.order);
  std::stable_sort(result.regions.begin(), result.regions.end(),
                   [](const ProbeRegion& x, const ProbeRegion& y) { return x.elements > y.elements; });
  return result;
}

static std::string range_text(const Range& r) {
  return r.step == 1 ? fmt::format("{}:{}", r.begin, r.end) : fmt::format("{}:{}:{}", r.begin, r.end, r.step);
}

std::string ProbeResult::text() const {
  const auto& p = call;
  std::string out = fmt::format("{}: {} {} x {} x {}{}{}, {} thread{}{}\n", backend, p.dtype == DType::f32 ? "float32" : "float64",
                                p.m, p.n, p.k, p.trans_a ? ", A stored transposed" : "", p.trans_b ? ", B stored transposed" : "",
                                p.threads, p.threads == 1 ? "" : "s", p.constant_b ? ", B constant" : "");
  if (status == Status::not_deterministic) {
    out += "not deterministic\n";
  } else {
    if (status != Status::not_reproduced && regions.size() == 1) out += "order: " + order.text() + "\n";
    if (regions.size() > 1) {
      // One line an order, with where it holds.
      const auto map = order.regions();
      for (const auto& region : regions) {
        std::string where;
        for (const auto& r : map)
          if (r.order == region.order) where += fmt::format("{}rows {} cols {}", where.empty() ? "" : "; ", range_text(r.rows), range_text(r.cols));
        out += fmt::format("order: {}\n  {} elements: {}\n", region.order.text(), region.elements, where.empty() ? "the rest" : where);
      }
    }
    out += fmt::format("{} of {} elements reproduced bit for bit on two data sets, {} calls\n", reproduced, elements, calls);
    if (!epilogue.empty()) out += epilogue + "\n";
    out += flushes_subnormal_inputs    ? "subnormal inputs are flushed to zero\n"
           : flushes_subnormal_results ? "subnormal results are flushed to zero\n"
                                       : "";
    if (ok()) out += profiles.empty() ? "no profile predicts this\n" : fmt::format("predicted by {}\n", fmt::join(profiles, ", "));
  }
  for (const auto& note : notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace samebits
