// SPDX-License-Identifier: Apache-2.0
// Probe, replay, refine. docs/probing.md tells the method.
#include "samebits/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <thread>

#include "explain/alpha_beta.h"
#include "explain/caller.h"
#include "explain/classes.h"
#include "explain/compare.h"
#include "explain/cover.h"
#include "explain/predict.h"
#include "explain/recognise.h"
#include "explain/witness.h"
#include "reference/reference.h"
#include "samebits/gemm.h"

namespace samebits {
namespace explain {
namespace {

template <class T>
class Prober {
 public:
  Prober(Backend& backend, const ProbeCall& call, const ProbeOptions& options)
      : p_(call), options_(options), caller_(backend, call, options) {
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
      result_.notes.push_back(
          fmt::format("the same call gave other bits in {} of {} elements the second time: a random order, or "
                      "threads that race",
                      changed, result_.elements));
      result_.calls = caller_.calls();
      return std::move(result_);
    }
    caller_.fill_random(options_.seed + 1);
    caller_.run();
    second_ = caller_.result();

    witness_ = witness(caller_);
    result_.flushes_subnormal_inputs = witness_.flushes_subnormal_inputs;
    result_.flushes_subnormal_results = witness_.flushes_subnormal_results;
    result_.notes = witness_.notes;
    if (p_.m > 1) classes_ = classify(caller_, witness_, true);
    if (p_.m == 1 || classes_.disagree || !replay()) {
      classes_ = classify(caller_, witness_, false);
      replay();
    }
    conclude();
    if (options_.epilogue && result_.ok() && !result_.regions.empty()) epilogue();
    result_.calls = caller_.calls();
    return std::move(result_);
  }

 private:
  // True when every element is reproduced on both data sets. Elements are judged one by one.
  bool replay() {
    caller_.stage("replay");
    good_.assign(static_cast<std::size_t>(result_.elements), 1);
    for (const int set : {0, 1}) {
      caller_.fill_random(options_.seed + static_cast<std::uint64_t>(set));
      const Inputs<T> inputs(caller_, witness_.input);
      const auto& seen = set == 0 ? first_ : second_;
      for (const auto& x : classes_.list) {
        const std::size_t stride = replay_by_kernel(x, inputs, seen) ? x.elements.size() / 256 + 1 : 1;
        for (std::size_t i = 0; i < x.elements.size(); i += stride) {
          const auto element = x.elements[i];
          if (good_[element] == 0) continue;
          good_[element] =
              x.tree && same_bits(reference::round_to(witness_.out, Rounding::rne,
                                                      reference::evaluate(*x.tree, inputs.a(element), inputs.b(element))),
                                  seen[element]);
        }
      }
      if (classes_.packed && std::find(good_.begin(), good_.end(), 0) != good_.end()) return false;
    }
    return std::find(good_.begin(), good_.end(), 0) == good_.end();
  }

  // A class too large for scalar code is replayed by this library's kernel for its order (the reference then looks at some
  // elements). False: there is none.
  bool replay_by_kernel(const Class& x, const Inputs<T>& inputs, const std::vector<T>& seen) {
    if (!x.tree || static_cast<double>(x.elements.size()) * static_cast<double>(p_.k) < 3e7 || witness_.out != Format::none)
      return false;
    const auto order = is_program(*x.tree) ? recognise(*x.tree) : std::nullopt;
    if (!order) return false;
    std::vector<T> c(good_.size());
    gemm(T(1), inputs.rows(), inputs.columns().transposed(), T(0), row_major(c.data(), p_.m, p_.n), *order,
         {static_cast<int>(std::thread::hardware_concurrency()), ""});
    for (const auto element : x.elements)
      if (!same_bits(c[element], seen[element])) good_[element] = 0;
    return true;
  }

  void conclude() {
    caller_.stage("recognition");
    result_.reproduced = std::count(good_.begin(), good_.end(), 1);
    result_.status = result_.reproduced == result_.elements ? ProbeResult::Status::reproduced
                     : result_.reproduced > 0               ? ProbeResult::Status::partly_reproduced
                                                            : ProbeResult::Status::not_reproduced;
    auto& notes = result_.notes;
    if (classes_.wide) notes.push_back(wide_words());
    if (!classes_.blocks.empty()) notes.push_back(classes_.blocks);
    if (classes_.too_many)
      notes.push_back("elements of C answer in too many ways: the order depends on the values or is random");
    for (const auto& x : classes_.list)
      if (!x.why_not.empty() && std::find(notes.begin(), notes.end(), x.why_not) == notes.end()) notes.push_back(x.why_not);
    if (result_.reproduced < result_.elements) explain_failure();

    // Classes with one tree are one region.
    std::map<Tree::Hash, std::size_t> by_tree;
    label_.assign(static_cast<std::size_t>(result_.elements), 0);
    for (const auto& x : classes_.list) {
      if (!x.tree) continue;
      Index good = 0;
      for (const auto element : x.elements) good += good_[element];
      if (good == 0) continue;
      const auto [it, fresh] = by_tree.try_emplace(x.tree->hash(), result_.regions.size());
      if (fresh) {
        const auto plain = recognise(with_normal_exponents(*x.tree));
        if (!plain) {  // then the order of C cannot be given
          result_.notes.push_back("the order language cannot write the tree " + x.tree->text());
          result_.status = ProbeResult::Status::partly_reproduced;
          by_tree.erase(it);
          continue;
        }
        const auto at = *std::min_element(x.elements.begin(), x.elements.end());
        result_.regions.push_back({with_settings(*plain), x.tree->text(), 0, at / p_.n, at % p_.n});
      }
      auto& region = result_.regions[it->second];
      region.elements += static_cast<Index>(x.elements.size());
      for (const auto element : x.elements) {
        label_[element] = static_cast<std::uint32_t>(it->second);
        if (static_cast<Index>(element) < region.row * p_.n + region.col)
          region.row = element / p_.n, region.col = element % p_.n;
      }
    }
    if (!result_.regions.empty()) compose();
  }

  std::string wide_words() const {
    const std::string_view type = sizeof(T) == 4 ? "float32" : "float64";
    std::size_t elements = 0, rounded = 0, exact = 0, roundings = 0;
    for (const auto& x : classes_.list) {
      if (!x.tree || std::none_of(x.tree->nodes.begin(), x.tree->nodes.end(), [](const Node& n) { return n.wide; }))
        continue;
      elements += x.elements.size();
      std::size_t here = x.tree->nodes[x.tree->root].wide;
      for (const auto& node : x.tree->nodes)
        for (const auto& item : node.items) {
          if (item.is_node())
            here += !node.wide && x.tree->nodes[item.node].wide;
          else if (node.wide)
            (item.op == Op::mul_f32 ? rounded : exact) += item.count;
        }
      roundings = std::max(roundings, here);
    }
    return fmt::format(
        "some sums are accumulated in more than {0}: in {1} of {2} elements {3} products are added in a wider type, and the "
        "sum is "
        "rounded to {0} {4}",
        type, elements, result_.elements,
        exact == 0     ? "rounded"
        : rounded == 0 ? "exact"
                       : "exact and rounded",
        roundings == 1 ? "once" : fmt::format("{} times", roundings));
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

  Order with_settings(const Order& plain) const {
    static constexpr std::array formats{"", "tf32", "bf16", "fp16"};
    static constexpr std::array roundings{"rne", "rna", "rz", "rz, raw"};
    std::string text;
    if (witness_.out != Format::none) text += fmt::format("out({}) > ", formats[static_cast<std::size_t>(witness_.out)]);
    if (witness_.input.format != Format::none)
      text += fmt::format("{}({}) > ", formats[static_cast<std::size_t>(witness_.input.format)],
                          roundings[static_cast<std::size_t>(witness_.input.rounding)]);
    return Order::parse(text + plain.text());
  }

  void explain_failure() {
    // Is the result better than any sum of rounded adds would be? Then it is compensated, or accumulated wider.
    caller_.fill_random(options_.seed);
    const Inputs<T> inputs(caller_, witness_.input);
    Index values = 0;
    double error = 0, tree_error = 0;  // summed over elements
    for (const auto& x : classes_.list)
      for (const auto element : x.elements) {
        if (good_[element] || !x.tree || values == 400) continue;
        const T *a = inputs.a(element), *b = inputs.b(element);
        const double best = reference::exact_dot(a, b, static_cast<std::size_t>(p_.k));
        ++values;
        error += std::abs(static_cast<double>(first_[element]) - best);
        tree_error += std::abs(static_cast<double>(reference::evaluate(*x.tree, a, b)) - best);
      }
    result_.notes.push_back(fmt::format("{} elements are not reproduced: not a fixed tree of rounded adds",
                                        result_.elements - result_.reproduced));
    if (values > 0 && error * 2 < tree_error)
      result_.notes.push_back(
          fmt::format("their mean error is {:.2g}, that of the tree that masked calls show {:.2g}: a compensated sum, or a "
                      "wider accumulator",
                      error / static_cast<double>(values), tree_error / static_cast<double>(values)));
    else if (std::any_of(classes_.list.begin(), classes_.list.end(), [](const Class& x) { return x.consistent && x.tree; }))
      result_.notes.push_back("masked calls do give a tree, so the order may depend on the values (zeros skipped, say)");
  }

  void epilogue() {
    std::vector<Tree> trees;  // as the orders give them: their pieces stay apart
    for (const auto& region : result_.regions) trees.push_back(region.order.tree(static_cast<std::size_t>(p_.k)));
    const auto found = alpha_beta(caller_, witness_, trees, label_, options_.seed + 2);
    result_.epilogue = found.words;
    if (!found.epilogue || *found.epilogue == Epilogue{}) return;
    for (auto& region : result_.regions) region.order = with_epilogue(region.order, *found.epilogue);
    compose();
  }

  // The region's order holds input and output stages already: the epilogue goes behind out(...).
  static Order with_epilogue(const Order& order, const Epilogue& x) {
    std::vector<std::string> parts;
    if (x.alpha != Epilogue::Alpha::end) parts.push_back(x.alpha == Epilogue::Alpha::a ? "alpha=a" : "alpha=block");
    if (x.c != Epilogue::C::last) parts.push_back(x.c == Epilogue::C::first ? "c=first" : "c=seed");
    if (x.fused) parts.push_back("fused");
    const auto text = order.text();
    const std::size_t at = text.rfind("out(", 0) == 0 ? text.find(" > ") + 3 : 0;
    return Order::parse(fmt::format("{}epilogue({}) > {}", text.substr(0, at), fmt::join(parts, ", "), text.substr(at)));
  }

  // Orders get the exponents of FP16 from their input stage, which comes later.
  static Tree with_normal_exponents(Tree tree) {
    for (auto& node : tree.nodes)
      for (auto& item : node.items) item.emin = Item{}.emin;
    return tree;
  }

  ProbeCall p_;
  ProbeOptions options_;
  Caller<T> caller_;
  ProbeResult result_;
  std::vector<T> first_, second_;
  Witness witness_;
  Classes classes_;
  std::vector<char> good_;            // an element: reproduced on all data so far
  std::vector<std::uint32_t> label_;  // an element: its region
};

}  // namespace
}  // namespace explain

ProbeResult probe(Backend& backend, const ProbeCall& call, const ProbeOptions& options) {
  const auto require = [](bool holds, const std::string& otherwise) {
    if (!holds) throw Error(Code::invalid_argument, "probe: " + otherwise);
  };
  require(call.m >= 1 && call.n >= 1 && call.k >= 1, fmt::format("m, n and k must be at least 1, the product is {} x {} x {}", call.m, call.n, call.k));
  require(call.k <= Index{1} << 22, "k can be at most 2^22");
  require(call.m <= (Index{1} << 31) / call.n, "at most 2^31 elements of C");
  require(call.threads >= 1, fmt::format("at least one thread, not {}", call.threads));
  const unsigned size = call.dtype == DType::f32 ? 4 : 8;
  for (const auto offset : {call.a_offset, call.b_offset, call.c_offset})
    require(offset < 64 && offset % size == 0, fmt::format("offset {}: offsets are bytes past a multiple of 64, multiples of {}", offset, size));
  if (const Index least = (call.k - 1) / call.m; least > options.max_calls)
    throw Error(Code::backend, fmt::format("{}: {} x {} x {} takes at least {} calls, more than {}; a product of more rows takes fewer", backend.name(),
                                           call.m, call.n, call.k, least, options.max_calls));
  if (!backend.supports(call.dtype))
    throw Error(Code::unsupported, backend.name() + (call.dtype == DType::f32 ? " has no float32" : " has no float64"));
  auto result = call.dtype == DType::f32 ? explain::Prober<float>(backend, call, options).run()
                                         : explain::Prober<double>(backend, call, options).run();
  if (result.ok() && !result.regions.empty())
    result.profiles = explain::predicting_profiles(result.backend, call, result.order);
  std::stable_sort(result.regions.begin(), result.regions.end(),
                   [](const ProbeRegion& x, const ProbeRegion& y) { return x.elements > y.elements; });
  return result;
}

static std::string range_text(const Range& r) {
  return r.step == 1 ? fmt::format("{}:{}", r.begin, r.end) : fmt::format("{}:{}:{}", r.begin, r.end, r.step);
}

std::string ProbeResult::text() const {
  const auto& p = call;
  std::string out =
      fmt::format("{}: {} {} x {} x {}{}{}, {} thread{}{}\n", backend, p.dtype == DType::f32 ? "float32" : "float64", p.m,
                  p.n, p.k, p.trans_a ? ", A stored transposed" : "", p.trans_b ? ", B stored transposed" : "", p.threads,
                  p.threads == 1 ? "" : "s", p.constant_b ? ", B constant" : "");
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
          if (r.order == region.order)
            where += fmt::format("{}rows {} cols {}", where.empty() ? "" : "; ", range_text(r.rows), range_text(r.cols));
        out += fmt::format("order: {}\n  {} elements: {}\n", region.order.text(), region.elements,
                           where.empty() ? "the rest" : where);
      }
    }
    out += fmt::format("{} of {} elements reproduced bit for bit on two data sets, {} calls\n", reproduced, elements, calls);
    if (!epilogue.empty()) out += epilogue + "\n";
    out += flushes_subnormal_inputs    ? "subnormal inputs are flushed to zero\n"
           : flushes_subnormal_results ? "subnormal results are flushed to zero\n"
                                       : "";
    if (ok())
      out += profiles.empty() ? "no profile predicts this\n" : fmt::format("predicted by {}\n", fmt::join(profiles, ", "));
  }
  for (const auto& note : notes) out += "note: " + note + "\n";
  return out;
}

}  // namespace samebits
