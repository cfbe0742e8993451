// SPDX-License-Identifier: Apache-2.0
#include "explain/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profiles/profile.h"

namespace samebits::explain {
namespace {

// How a product begins an accumulator or stands alone in one, by fma or rounded, decides only the sign of a zero when
// products underflow. A probe cannot always tell, so trees are compared without it: such a product is a bare one that is
// rounded first.
Tree without_signs(Tree tree) {
  const auto product = [](const Item& leaf) {
    Item out = leaf;
    out.count = 1, out.op = Op::mul;
    return out;
  };
  const auto is_product = [](const Item& item) { return !item.is_node() && (item.op == Op::fma || item.op == Op::mul); };
  for (auto& node : tree.nodes) {  // children first
    if (node.wide) continue;
    auto& items = node.items;
    for (auto& item : items) {
      if (!item.is_node()) continue;
      const auto& inner = tree.nodes[item.node];
      if (!inner.wide && inner.round == Format::none && inner.items.size() == 1 && is_product(inner.items[0]) &&
          inner.items[0].count == 1)
        item = product(inner.items[0]);
    }
    if (items.size() > 1 && is_product(items[0]) && items[0].count == 1 && items[1].is_node()) std::swap(items[0], items[1]);
    if (items.empty() || !is_product(items[0])) continue;
    Item rest = items[0];
    ++rest.begin, --rest.count;
    items[0] = product(items[0]);
    if (rest.count > 0) items.insert(items.begin() + 1, rest);
  }
  return tree;
}

// Tree and roundings of each plain order, computed once a text.
class Trees {
 public:
  explicit Trees(Index k) : k_(static_cast<std::size_t>(k)) {}
  std::size_t id(const Order& order) {
    const auto text = order.text();
    if (const auto it = by_text_.find(text); it != by_text_.end()) return it->second;
    const auto hash = without_signs(order.tree(k_)).hash();
    const Key key{hash.lo, hash.hi, static_cast<int>(order.input().format), static_cast<int>(order.input().rounding),
                  static_cast<int>(order.out())};
    const auto [it, fresh] = by_key_.try_emplace(key, by_key_.size());
    return by_text_[text] = it->second;
  }

 private:
  using Key = std::tuple<std::uint64_t, std::uint64_t, int, int, int>;
  std::size_t k_;
  std::map<std::string, std::size_t> by_text_;
  std::map<Key, std::size_t> by_key_;
};

template <class F>
void each_choice(const profiles::Profile& profile, const F& visit) {
  std::vector<std::size_t> at(profile.keys.size(), 0);
  for (int budget = 0; budget < 400; ++budget) {
    profiles::Keys keys;
    for (std::size_t i = 0; i < at.size(); ++i) keys[profile.keys[i].name] = profile.keys[i].values[at[i]];
    visit(keys);
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == profile.keys[i].values.size()) at[i++] = 0;
    if (i == at.size()) return;
  }
}

std::string written(const profiles::Profile& profile, const profiles::Keys& keys) {
  std::string inside;
  for (const auto& key : profile.keys)
    if (keys.at(key.name) != key.values.front())
      inside += fmt::format("{}{}={}", inside.empty() ? "" : ", ", key.name, keys.at(key.name));
  return inside.empty() ? profile.name : fmt::format("{}({})", profile.name, inside);
}

}  // namespace

profiles::Call profile_call(const ProbeCall& p) {
  profiles::Call call;
  call.dtype = p.dtype;
  call.m = p.m, call.n = p.n, call.k = p.k;
  call.trans_a = p.trans_a, call.trans_b = p.trans_b;
  call.threads = p.threads, call.constant_b = p.constant_b;
  call.a_offset = p.a_offset, call.b_offset = p.b_offset, call.c_offset = p.c_offset;
  return call;
}

bool same_trees(const Order& x, const Order& y, const ProbeCall& p) {
  Trees trees(p.k);
  for (Index i = 0; i < p.m * p.n; ++i)
    if (trees.id(x.at(i / p.n, i % p.n)) != trees.id(y.at(i / p.n, i % p.n))) return false;
  return true;
}

std::vector<std::string> predicting_profiles(const std::string& backend, const ProbeCall& p, const Order& order) {
  const auto call = profile_call(p);
  Trees trees(p.k);
  std::vector<std::pair<Index, std::size_t>> wanted;  // element, tree
  const Index elements = p.m * p.n, stride = std::max<Index>(1, elements / 4096);
  for (Index i = 0; i < elements; i += stride) wanted.emplace_back(i, trees.id(order.at(i / p.n, i % p.n)));

  std::vector<std::pair<int, std::string>> found;
  for (const auto& profile : profiles::all()) {
    bool done = false;
    each_choice(profile, [&](const profiles::Keys& keys) {
      if (done) return;
      try {
        const auto predicted = profile.order(call, keys);
        if (!predicted) return;
        for (const auto& [i, tree] : wanted)
          if (trees.id(predicted->at(i / p.n, i % p.n)) != tree) return;
        found.emplace_back(backend.find(profile.name) == std::string::npos ? 1 : 0, written(profile, keys));
        done = true;
      } catch (const Error&) {  // these keys do not go together
      }
    });
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::string> names;
  for (auto& [rank, name] : found) names.push_back(std::move(name));
  return names;
}

}  // namespace samebits::explain
