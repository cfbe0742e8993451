// SPDX-License-Identifier: Apache-2.0
// Orders: pipelines, regions of them, and references to profiles.
#include "samebits/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "order/stage.h"

namespace samebits {

using order::Rank;
using order::Scanner;

class OrderNode {
 public:
  // A plain order.
  order::Settings settings;
  std::vector<std::shared_ptr<const order::Stage>> stages;  // settings first, in canonical order
  std::size_t first_cut = 0;                                // where the settings end
  order::Stages cuts() const { return order::Stages(stages).subspan(first_cut); }
  // Regions and what holds elsewhere.
  std::vector<Region> regions;
  std::optional<Order> rest;
  // A profile.
  std::string profile;
  std::vector<std::pair<std::string, std::string>> keys;

  bool is_plain() const { return !rest && profile.empty(); }
};

namespace {

constexpr std::size_t max_stages = 64;

std::string stage_names() {
  std::string s;
  for (const auto& word : order::stage_words()) s += fmt::format("{}{}", s.empty() ? "" : ", ", word.name);
  return s;
}

Order parse_pipeline(Scanner& in) {
  auto node = std::make_shared<OrderNode>();
  std::vector<std::pair<Rank, std::shared_ptr<const order::Stage>>> stages;
  order::Left left;
  for (Rank last = Rank::out; last != Rank::leaf; last = stages.back().first) {
    if (!stages.empty()) in.expect('>');
    const order::StageWord* word = order::find_stage(in.peek_word());
    const std::size_t column = in.position();
    if (!word) in.fail("a stage (" + stage_names() + ")");
    if (word->rank < Rank::cut) {
      for (const auto& [rank, stage] : stages) {
        if (rank >= Rank::cut)
          in.fail_at(column, fmt::format("'{}' holds for the whole order: it stands before all other stages", word->name));
        if (rank == word->rank)
          in.fail_at(column, fmt::format("'{}' after '{}': only one of this kind", word->name, stage->text()));
      }
    }
    if (left.last && left.last->is_tree() && word->rank != Rank::leaf) in.fail("fma or mul after tree(...)");
    if (stages.size() >= max_stages) in.fail(fmt::format("at most {} stages", max_stages));
    in.word();
    stages.emplace_back(word->rank, word->parse(in, left));
    left.last = stages.back().second.get();
    left.wide |= word->name == "f64";
    left.last->apply(left.settings);
  }
  const auto& leaf = static_cast<const order::Leaf&>(*stages.back().second);
  std::stable_sort(stages.begin(), stages.end(),
                   [](const auto& x, const auto& y) { return std::min(x.first, Rank::cut) < std::min(y.first, Rank::cut); });
  node->settings = left.settings;
  for (auto& [rank, stage] : stages) {
    node->first_cut += rank < Rank::cut;
    node->stages.push_back(stage->is_tree() ? stage->with_op(leaf.op()) : stage);
  }
  return Order(node);
}

constexpr std::uint64_t whole = static_cast<std::uint64_t>(Range::all().end);

// "a:b:s:" up to the colon that ends the range (before a word) or a space before "cols=".
Range parse_range(Scanner& in) {
  Range range;
  range.begin = static_cast<Index>(in.number(0, whole));
  in.expect(':');
  const std::size_t column = in.position();
  range.end = static_cast<Index>(in.number(0, whole));
  if (range.end <= range.begin) in.fail_at(column, "the range is empty");
  return range;
}

Order parse_regions(Scanner& in) {
  auto node = std::make_shared<OrderNode>();
  in.word();
  in.expect('(');
  while (!node->rest) {
    if (in.accept("rest")) {
      in.expect(':');
      node->rest = parse_pipeline(in);
      break;
    }
    Region region{Range::all(), Range::all(), Order()};
    bool rows = false, cols = false, ended = false;
    while (!ended) {
      Range* range = nullptr;
      if (!rows && !cols && in.accept("rows")) {
        range = &region.rows;
        rows = true;
      } else if (!cols && in.accept("cols")) {
        range = &region.cols;
        cols = true;
      } else {
        in.fail(rows ? "':' or 'cols='" : cols ? "':'" : "'rows=', 'cols=' or 'rest:'");
      }
      in.expect('=');
      *range = parse_range(in);
      if (in.accept(':')) {
        if (in.at_digit()) {
          range->step = static_cast<Index>(in.number(1, whole));
          ended = in.accept(':');
        } else {
          ended = true;
        }
      }
    }
    region.order = parse_pipeline(in);
    node->regions.push_back(std::move(region));
    in.expect(';');
  }
  in.expect(')');
  return Order(node);
}

Order parse_profile(Scanner& in) {
  auto node = std::make_shared<OrderNode>();
  in.peek_word();
  const std::size_t column = in.position();
  node->profile = in.word();
  auto unknown = [&] {
    in.fail_at(column, fmt::format("unknown stage '{}', expected {}, regions, or a profile NAME(key=value, ...)",
                                   node->profile, stage_names()));
  };
  if (in.accept('(') && !in.accept(')')) {
    do {
      std::string key(in.word());
      const std::size_t key_column = in.position() - key.size();
      if (key.empty() || !in.accept('=')) unknown();
      for (const auto& [other, value] : node->keys)
        if (other == key) in.fail_at(key_column, fmt::format("'{}' is given twice", key));
      node->keys.emplace_back(std::move(key), in.value());
    } while (in.accept(','));
    in.expect(')');
  }
  if (in.at('>')) unknown();
  return Order(node);
}

std::string text_of(std::string_view name, const Range& range) {
  if (range == Range::all()) return "";
  return fmt::format("{}={}:{}{}", name, range.begin, range.end, range.step == 1 ? "" : fmt::format(":{}", range.step));
}

}  // namespace

Order::Order() {
  static const auto fma = parse("fma").node_;
  node_ = fma;
}

Order Order::parse(std::string_view text) {
  Scanner in(text);
  const auto word = in.peek_word();
  if (word.empty()) in.fail("a stage, a profile or 'regions'");
  Order order = word == "regions" ? parse_regions(in) : order::find_stage(word) ? parse_pipeline(in) : parse_profile(in);
  if (!in.at_end()) in.fail("the end");
  return order;
}

Order Order::with_regions(std::vector<Region> regions, Order rest) {
  auto plain = [](const Order& order) {
    if (!order.node().is_plain())
      throw Error(Code::invalid_argument, "a region holds a plain order, not '" + order.text() + "'");
  };
  plain(rest);
  for (const Region& region : regions) {
    plain(region.order);
    for (const Range& range : {region.rows, region.cols})
      if (range.begin < 0 || range.end <= range.begin || range.step < 1)
        throw Error(Code::invalid_argument, fmt::format("a region is empty: {}:{}:{}", range.begin, range.end, range.step));
  }
  if (regions.empty()) return rest;
  auto node = std::make_shared<OrderNode>();
  node->regions = std::move(regions);
  node->rest = std::move(rest);
  return Order(node);
}

std::string Order::text() const {
  const OrderNode& n = *node_;
  std::string s;
  if (!n.profile.empty()) {
    order::CallText call(n.profile);
    for (const auto& [key, value] : n.keys) call.option(key, value);
    return call.str();
  }
  if (n.rest) {
    s = "regions(";
    for (const Region& r : n.regions) {
      std::string rows = text_of("rows", r.rows), cols = text_of("cols", r.cols);
      if (rows.empty() && cols.empty()) rows = fmt::format("rows=0:{}", whole);
      s += fmt::format("{}{}{}: {}; ", rows, rows.empty() || cols.empty() ? "" : " ", cols, r.order.text());
    }
    return s + "rest: " + n.rest->text() + ")";
  }
  for (const auto& stage : n.stages)
    if (const auto t = stage->text(); !t.empty()) s += (s.empty() ? "" : " > ") + t;
  return s;
}

std::string Order::describe() const {
  const OrderNode& n = *node_;
  if (!n.profile.empty()) return fmt::format("what the profile {} says for the call", n.profile);
  if (n.rest) {
    std::string s = fmt::format("{} region{}; elsewhere: ", n.regions.size(), n.regions.size() == 1 ? "" : "s");
    return s + n.rest->describe();
  }
  std::string s;
  for (const auto& stage : n.stages)
    if (!stage->text().empty()) s += (s.empty() ? "" : "; ") + stage->describe();
  return s;
}

bool Order::has_regions() const {
  return node_->rest.has_value();
}
bool Order::is_profile() const {
  return !node_->profile.empty();
}
std::string Order::profile_name() const {
  return node_->profile;
}
std::vector<std::pair<std::string, std::string>> Order::profile_keys() const {
  return node_->keys;
}

namespace {

const OrderNode& plain(const Order& order) {
  if (order.is_profile())
    throw Error(Code::invalid_argument,
                fmt::format("'{}' is a profile: it gives an order for a call, with shapes", order.text()));
  if (order.has_regions()) throw Error(Code::invalid_argument, "an order with regions has one tree for each region");
  return order.node();
}

}  // namespace

InputRounding Order::input() const {
  return plain(*this).settings.input;
}
Epilogue Order::epilogue() const {
  return plain(*this).settings.epilogue;
}
Format Order::out() const {
  return plain(*this).settings.out;
}

Tree Order::tree(std::size_t k) const {
  const OrderNode& n = plain(*this);
  if (k > order::max_k) throw Error(Code::invalid_argument, fmt::format("K = {} is too large", k));
  order::Builder builder;
  builder.settings = n.settings;
  if (k == 0) return builder.finish(builder.add(builder.node()), 0);
  std::vector<std::uint32_t> ks(k);
  std::iota(ks.begin(), ks.end(), 0u);
  std::uint32_t root = builder.build(n.cuts(), ks);
  // Where the epilogue refers to pieces, the root holds them: those of chunks or split, else the one sum.
  const bool pieces = n.settings.epilogue.alpha == Epilogue::Alpha::block || n.settings.epilogue.c == Epilogue::C::first;
  if (pieces && !n.cuts().front()->has_pieces(n.cuts().subspan(1))) root = builder.add({root});
  return builder.finish(root, static_cast<std::uint32_t>(k));
}

std::vector<Region> Order::regions() const {
  return node_->regions;
}
Order Order::rest() const {
  return node_->rest ? *node_->rest : *this;
}

Order Order::at(Index i, Index j) const {
  for (const Region& r : node_->regions)
    if (r.rows.contains(i) && r.cols.contains(j)) return r.order;
  return rest();
}

void Order::check_shape(Index rows, Index cols) const {
  auto check = [](const Range& range, Index size, std::string_view name) {
    if (range != Range::all() && range.end > size)
      throw Error(Code::invalid_argument, fmt::format("region {} is past the {} {}", text_of(name, range), size, name));
  };
  for (const Region& r : node_->regions) {
    check(r.rows, rows, "rows");
    check(r.cols, cols, "cols");
  }
}

bool equivalent(const Order& x, const Order& y, std::size_t k) {
  if (x == y) return true;
  if (x.is_profile() || y.is_profile()) return false;
  if (x.has_regions() || y.has_regions()) {
    const auto xs = x.regions(), ys = y.regions();
    return equivalent(x.rest(), y.rest(), k) &&
           std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(), [k](const Region& a, const Region& b) {
             return a.rows == b.rows && a.cols == b.cols && equivalent(a.order, b.order, k);
           });
  }
  if (x.input() != y.input() || x.epilogue() != y.epilogue() || x.out() != y.out()) return false;
  Tree a = x.tree(k), b = y.tree(k);
  if (a.hash() != b.hash()) return false;
  const Epilogue epilogue = x.epilogue();
  if (epilogue.c == Epilogue::C::seed && k > 0) {  // C starts the chain of the first leaf, and C may be -0
    if (a.ks[0] != b.ks[0]) return false;
    for (Tree* tree : {&a, &b})
      for (Node& node : tree->nodes)
        node.start_negative |= !node.items.empty() && !node.items[0].is_node() && node.items[0].begin == 0;
    if (a.hash() != b.hash()) return false;
  }
  if (epilogue.alpha == Epilogue::Alpha::block || epilogue.c == Epilogue::C::first) {
    // Piece by piece: C, or a scaled sum, enters between them.
    const auto xs = a.nodes[a.root].items, ys = b.nodes[b.root].items;
    return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(), [&](const Item& p, const Item& q) {
      a.root = p.node;
      b.root = q.node;
      return a.hash() == b.hash();
    });
  }
  return true;
}

std::vector<StageHelp> stage_help() {
  std::vector<StageHelp> help;
  for (const auto& word : order::stage_words())
    help.push_back({std::string(word.name), std::string(word.usage), std::string(word.help)});
  return help;
}

}  // namespace samebits
