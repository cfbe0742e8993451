// SPDX-License-Identifier: Apache-2.0
#include "explain/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <random>
#include <set>
#include <thread>

#include "explain/compare.h"
#include "profiles/profile.h"
#include "reference/reference.h"

namespace samebits::explain {
namespace {

// `count` of [0, n), ends included, in steps that mix odd and even.
std::vector<Index> spread(Index n, Index count) {
  std::set<Index> chosen;
  count = std::min(n, count);
  for (Index i = 0; i < count; ++i) chosen.insert(count == 1 ? 0 : i * (n - 1) / (count - 1));
  return {chosen.begin(), chosen.end()};
}

struct Agreement {
  Index fitted = 0, fit_total = 0, confirmed = 0, held_total = 0;
  bool fits() const { return fitted == fit_total; }
  bool all() const { return fits() && confirmed == held_total; }
};

bool counts(const std::vector<std::uint8_t>& ignored, Index e) {
  return ignored.empty() || !ignored[static_cast<std::size_t>(e)];
}

template <class T>
Agreement agreement(const std::vector<T>& x, const std::vector<T>& y, const std::vector<std::uint8_t>& ignored) {
  Agreement r;
  for (Index e = 0; e < std::ssize(y); ++e) {
    if (!counts(ignored, e)) continue;
    const bool same = same_bits(x[e], y[e]);
    if (held_back(e)) {
      ++r.held_total;
      r.confirmed += same;
    } else {
      ++r.fit_total;
      r.fitted += same;
    }
  }
  return r;
}

}  // namespace

bool held_back(Index element) {
  auto z = static_cast<std::uint64_t>(element) + 0x9e3779b97f4a7c15u;  // splitmix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) & 1;
}

void parallel_for(std::size_t n, int threads, const std::function<void(std::size_t)>& f) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next++) < n;) f(i);
  };
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
}

template <class T>
Search<T>::Search(const Problem<T>& problem, Format out, const Options& options)
    : problem_(problem), out_(out), options_(options), everything_(problem, options.threads) {}

template <class T>
void Search<T>::screen() {
  if (grid_) return;
  if (options_.progress) options_.progress("listing orders");
  candidates_ = candidates(problem_, out_);
  const Index k = std::max<Index>(1, problem_.k());
  const Index wanted = std::clamp<Index>(600'000'000 / (std::ssize(candidates_) * k), 24, 128);
  Index items = std::min<Index>(problem_.batch(), 8);
  Index rows = std::min<Index>(problem_.m(), std::max<Index>(1, std::lround(std::sqrt(wanted / items))));
  const Index cols = std::min<Index>(problem_.n(), std::max<Index>(1, wanted / items / rows));
  rows = std::min<Index>(problem_.m(), std::max<Index>(1, wanted / items / cols));
  items = std::min<Index>(problem_.batch(), std::max<Index>(1, wanted / rows / cols));
  grid_ = std::make_unique<Replay<T>>(problem_, spread(problem_.batch(), items), spread(problem_.m(), rows),
                                      spread(problem_.n(), cols));
  if (options_.progress)
    options_.progress(fmt::format("trying {} orders on {} elements", candidates_.size(), grid_->size()));
  grid_values_.resize(candidates_.size());
  parallel_for(candidates_.size(), options_.threads, [&](std::size_t c) {
    try {
      grid_values_[c] = grid_->values(candidates_[c].order);
    } catch (const Error&) {  // a stage that this type or epilogue does not have: never fits
    }
  });
  if (k <= AllTrees::max_k) all_trees_ = std::make_unique<AllTrees>(k);
}

template <class T>
const std::vector<T>& Search<T>::on_grid(const Order& plain) {
  const auto [entry, fresh] = plain_values_.try_emplace(plain.text());
  if (fresh) try {
      entry->second = grid_->values(plain);
    } catch (const Error&) {
    }
  return entry->second;
}

template <class T>
std::vector<typename Search<T>::Predicted> Search<T>::predictions(const std::string& only) const {
  std::vector<Predicted> list;
  std::map<std::string, std::size_t> by_text;
  profiles::Call call{.dtype = dtype_of<T>,
                      .m = problem_.m(),
                      .n = problem_.n(),
                      .k = problem_.k(),
                      .trans_a = problem_.trans_a,
                      .trans_b = problem_.trans_b,
                      .a_shape = problem_.a_shape,
                      .b_shape = problem_.b_shape,
                      .bias = !problem_.c.empty()};
  call.same_operand = problem_.a.front().data == problem_.b.front().data;
  profiles::Keys given;
  std::string name = only;
  if (!only.empty()) {
    const Order reference = Order::parse(only);
    name = reference.profile_name();
    for (const auto& [key, value] : reference.profile_keys()) given[key] = value;
  }
  for (const auto& profile : profiles::all()) {
    if (!name.empty() && profile.name != name) continue;
    std::vector<std::vector<std::string>> choices;
    for (const auto& key : profile.keys)
      choices.push_back(given.contains(key.name) ? std::vector{given[key.name]} : key.values);
    for (std::vector<std::size_t> pick(choices.size()); true;) {
      profiles::Keys keys;
      std::string text = profile.name + "(";
      for (std::size_t i = 0; i < choices.size(); ++i) {
        keys[profile.keys[i].name] = choices[i][pick[i]];
        text += fmt::format("{}{}={}", i ? ", " : "", profile.keys[i].name, choices[i][pick[i]]);
      }
      for (int threads : problem_.threads ? std::vector{problem_.threads} : std::vector{1}) {
        call.threads = threads;
        if (const auto order = profile.order(call, keys)) {
          const auto [entry, fresh] = by_text.try_emplace(order->text(), list.size());
          if (fresh) list.push_back({*order, {}});
          list[entry->second].names.push_back(choices.empty() ? profile.name : text + ")");
        }
      }
      std::size_t i = 0;
      while (i < pick.size() && ++pick[i] == choices[i].size()) pick[i++] = 0;
      if (i == pick.size()) break;
    }
  }
  return list;
}

template <class T>
typename Search<T>::Trees Search<T>::trees(const std::vector<T>& values, const std::vector<std::uint8_t>& ignored) const {
  constexpr Index most_elements = 4096;
  const Index k = problem_.k();
  enum : std::uint8_t { dead, survived, fits };  // survived: right on the elements that choose, wrong on one held back
  std::vector<std::uint8_t> state(all_trees_->size(), fits);
  std::vector<T> a(k), b(k), v;
  Index seen = 0, agreeing = 0;
  for (Index e = 0; e < std::ssize(values) && seen < most_elements; ++e) {
    if (!counts(ignored, e)) continue;
    const Place p = place(problem_, e);
    for (Index i = 0; i < k; ++i) {
      a[i] = problem_.a[p.item](p.i, i);
      b[i] = problem_.b[p.item](i, p.j);
    }
    all_trees_->values(a.data(), b.data(), v);
    const bool confirms = held_back(e);
    for (std::size_t t = 0; t < state.size(); ++t) {
      const T x = problem_.c.empty() ? v[t] : v[t] + problem_.c[p.item](p.i, p.j);
      if (same_bits(out_ == Format::none ? x : reference::round_to(out_, Rounding::rne, x), values[e]))
        ++agreeing;
      else
        state[t] = std::min<std::uint8_t>(state[t], confirms ? survived : dead);
    }
    ++seen;
  }
  Trees r;
  r.fit = std::ranges::count(state, fits);
  r.survived = r.fit + std::ranges::count(state, survived);
  r.agreeing = seen ? static_cast<double>(agreeing) / static_cast<double>(seen) : 0;
  if (r.fit) r.first = all_trees_->order(static_cast<std::size_t>(std::ranges::find(state, fits) - state.begin()));
  return r;
}

template <class T>
Index Search<T>::trees_that_fit(const std::vector<T>& values, const std::vector<std::uint8_t>& ignored) const {
  return all_trees_ ? trees(values, ignored).fit : 0;
}

template <class T>
bool Search<T>::near_exact(const Order& plain) const {
  const Tree tree = plain.tree(static_cast<std::size_t>(problem_.k()));
  const Node& root = tree.nodes[tree.root];
  return problem_.k() > 1 &&
         (root.wide || std::ranges::any_of(root.items, [](const Item& i) { return !i.is_node() && i.op == Op::exact; }));
}

template <class T>
Fits Search<T>::whole(const std::vector<T>& values, const std::string& profile, const std::vector<std::uint8_t>& ignored) {
  screen();
  const Index k = problem_.k();
  const bool added = !problem_.c.empty();
  Fits fits;
  std::map<std::string, std::size_t> by_key;
  Index survivors = 0;  // of the elements that choose
  double agreeing = 0, judged = 0, closest = 0;
  Index confirming = 0, counted = 0;
  for (Index e = 0; e < std::ssize(values); ++e) {
    counted += counts(ignored, e);
    confirming += held_back(e) && counts(ignored, e);
  }

  const auto grid_agreement = [&](const auto& value_of) {
    std::pair<Index, Index> r{0, 0};  // agreeing, looked at
    for (Index g = 0; g < grid_->size(); ++g) {
      const Index e = grid_->element(g);
      if (held_back(e) || !counts(ignored, e)) continue;
      ++r.second;
      const T* v = value_of(g);
      r.first += v && same_bits(*v, values[e]);
    }
    return r;
  };
  const auto full = [&](const Order& order, const std::string& key, const std::vector<std::string>& names) {
    if (const auto known = by_key.find(key); known != by_key.end()) {
      auto& p = fits.list[known->second].profiles;
      p.insert(p.end(), names.begin(), names.end());
      return;
    }
    const Agreement g = agreement(everything_.values(order), values, ignored);
    survivors += g.fits();
    if (!g.all()) return;
    by_key[key] = fits.list.size();
    fits.list.push_back({order, key, names});
  };

  const auto most_full_replays =
      static_cast<std::size_t>(std::clamp<Index>(100'000'000 / std::max<Index>(1, problem_.elements() * k), 64, 8192));
  std::vector<std::size_t> alive;
  if (profile.empty()) fits.tried += std::ssize(candidates_);
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (grid_values_[c].empty()) continue;
    const auto [same, looked] = grid_agreement([&](Index g) { return &grid_values_[c][g]; });
    if (same == looked) {
      if (profile.empty()) alive.push_back(c);
      continue;
    }
    const double share = static_cast<double>(same) / static_cast<double>(looked);
    agreeing += share;
    judged += 1;
    closest = std::max(closest, share);
  }
  if (options_.progress && !alive.empty()) options_.progress(fmt::format("replaying {} orders in full", alive.size()));
  for (std::size_t i = 0; i < std::min(alive.size(), most_full_replays); ++i)
    full(candidates_[alive[i]].order, candidates_[alive[i]].key, {});
  const Index unchecked = std::max<Index>(0, std::ssize(alive) - static_cast<Index>(most_full_replays));

  std::map<std::string, std::string> keys;  // of plain orders, by text
  const auto key_of = [&](const Order& plain) -> const std::string& {
    const auto [entry, fresh] = keys.try_emplace(plain.text());
    if (fresh) entry->second = equivalence_key(plain, k, added);
    return entry->second;
  };
  for (const auto& predicted : predictions(profile)) {
    ++fits.tried;
    const auto [same, looked] = grid_agreement([&](Index g) -> const T* {
      const Place p = grid_->at(g);
      const auto& v = on_grid(predicted.order.at(p.i, p.j));
      return v.empty() ? nullptr : &v[g];
    });
    if (same != looked) continue;
    // Two lists of regions are the same when every element has equivalent orders.
    std::string key = key_of(predicted.order.at(0, 0)), map;
    bool uniform = true;
    if (predicted.order.has_regions())
      for (Index i = 0; i < problem_.m(); ++i)
        for (Index j = 0; j < problem_.n(); ++j) {
          const auto& here = key_of(predicted.order.at(i, j));
          uniform &= here == key;
          map += fmt::format("{:x}.", std::hash<std::string>{}(here));
        }
    if (!uniform) key = map;
    full(predicted.order, key, predicted.names);
  }
  fits.candidates = std::ssize(fits.list) + (fits.list.empty() ? 0 : unchecked);

  if (all_trees_ && profile.empty()) {
    // Contains every plain fused or unfused order of the families once more.
    const Trees t = trees(values, ignored);
    fits.tried += static_cast<Index>(all_trees_->size());
    const Index others = std::ranges::count_if(fits.list, [&](const Fit& f) {
      if (f.order.has_regions() || f.order.input().format != Format::none || f.order.epilogue() != Epilogue{}) return true;
      const Tree tree = f.order.tree(static_cast<std::size_t>(k));
      return std::ranges::any_of(tree.nodes, [](const Node& n) {
        return n.wide || n.start_negative || std::ranges::any_of(n.items, [](const Item& i) {
                 return !i.is_node() && i.op != Op::fma && i.op != Op::mul;
               });
      });
    });
    if (t.fit && std::ssize(fits.list) == others) {
      const Order order = Order::parse(t.first);
      fits.list.push_back({order, equivalence_key(order, k, added), {}});
    }
    fits.candidates = others + t.fit + (fits.list.empty() ? 0 : unchecked);
    survivors = std::max(survivors, t.survived);
    agreeing += t.agreeing;
    judged += static_cast<double>(all_trees_->size());
  }
  // A wrong order passes by luck in agreeing with all that is held back. A near relative of the true one, where that is not
  // among those tried and no profile speaks for it, agrees as often as the closest of them that failed.
  const double p = judged > 0 ? agreeing / judged : 1;
  fits.chance = static_cast<double>(std::max<Index>(1, survivors)) * std::pow(p, static_cast<double>(confirming));
  const bool predicted = !fits.list.empty() && !fits.list.front().profiles.empty();
  if (!all_trees_ && !predicted) fits.chance = std::max(fits.chance, std::pow(closest, static_cast<double>(counted)));
  if (k <= 1) fits.chance = 0;
  if (fits.list.size() == 1 && !fits.list.front().order.has_regions()) fits.near_exact = near_exact(fits.list.front().order);
  return fits;
}

template <class T>
std::string Search<T>::probe(const Order& x, const Order& y) const {
  const auto k = static_cast<std::size_t>(problem_.k());
  const Tree tx = x.tree(k), ty = y.tree(k);
  std::vector<T> a(k), b(k), ra(k), rb(k);
  T c = 0;
  const auto value = [&](const Order& o, const Tree& tree) {
    reference::gather(o.input(), a.data(), 1, static_cast<Index>(k), ra.data());
    reference::gather(o.input(), b.data(), 1, static_cast<Index>(k), rb.data());
    return reference::evaluate(tree, o.epilogue(), o.out(), ra.data(), rb.data(),
                               reference::Scale<T>{.beta = problem_.c.empty() ? T(0) : T(1), .c = c});
  };
  const auto differ = [&](std::string what) {
    const T vx = value(x, tx), vy = value(y, ty);
    return same_bits(vx, vy) ? std::string{} : fmt::format("{}: {} against {}", what, vx, vy);
  };
  const int mask = dtype_of<T> == DType::f32 ? 40 : 100, small = dtype_of<T> == DType::f32 ? -12 : -27;
  const T big = std::ldexp(T(1), mask), one = T(1) + std::ldexp(T(1), small);
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    std::size_t i = k < 2 ? 0 : random() % k, j = k < 2 ? 0 : random() % k;
    if (i == j && k > 1) j = (i + 1) % k;
    if (i > j) std::swap(i, j);
    std::fill(a.begin(), a.end(), T(1));
    std::fill(b.begin(), b.end(), T(1));
    a[i] = big;
    a[j] = -big;
    if (auto text =
            differ(fmt::format("a row of A with 2^{} at k={}, -2^{} at k={}, 1 elsewhere, times ones", mask, i, mask, j));
        !text.empty())
      return text;
  }
  for (int round = 0; round < 400; ++round) {
    const std::size_t i = random() % k, j = random() % k;
    std::fill(a.begin(), a.end(), T(0));
    std::fill(b.begin(), b.end(), one);
    a[i] = -one;
    if (i != j) a[j] = one;
    if (auto text =
            differ(fmt::format("a row of A with -(1+2^{}) at k={}, 1+2^{} at k={}, 0 elsewhere, times a column of 1+2^{}",
                               small, i, small, j, small));
        !text.empty())
      return text;
  }
  for (int bits : {11, 8}) {
    for (int odd : {1, 3}) {
      std::fill(a.begin(), a.end(), T(0));
      std::fill(b.begin(), b.end(), T(1));
      a[0] = T(1) + std::ldexp(T(odd), -bits);
      if (auto text = differ(fmt::format("a row of A with 1+{}*2^-{} at k=0, 0 elsewhere, times ones", odd, bits));
          !text.empty())
        return text;
    }
  }
  for (int power : {-20, 17}) {  // FP16 has fewer exponents than the others
    std::fill(a.begin(), a.end(), T(0));
    a[0] = std::ldexp(T(1) + std::ldexp(T(1), -9), power);
    if (auto text = differ(fmt::format("a row of A with (1+2^-9)*2^{} at k=0, 0 elsewhere, times ones", power));
        !text.empty())
      return text;
  }
  std::normal_distribution<double> normal;
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < k; ++i) {
      a[i] = static_cast<T>(normal(random));
      b[i] = static_cast<T>(normal(random));
    }
    c = problem_.c.empty() ? T(0) : static_cast<T>(normal(random));
    if (auto text = differ("more rows and columns of random numbers"); !text.empty())
      return "more rows and columns of random numbers";
  }
  return "";
}

template class Search<float>;
template class Search<double>;

}  // namespace samebits::explain
