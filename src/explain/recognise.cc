// SPDX-License-Identifier: Apache-2.0
#include "explain/recognise.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace samebits::explain {
namespace {

constexpr std::size_t max_candidates = 24;

std::optional<Tree> expand(const std::string& text, std::size_t k) {
  try {
    return Order::parse(text).tree(k);
  } catch (const Error&) {  // this rule does not fit this k
    return std::nullopt;
  }
}

// Copies the part of `tree` made of `items` as a tree of its own over leaves base, base + 1, ...
class Extract {
 public:
  Extract(const Tree& from, std::uint32_t base) : from_(from), base_(base) {}
  Tree operator()(const std::vector<Item>& items, const Node& like) {
    Node root = like;
    root.items = items;
    out_.root = copy(root);
    out_.k = static_cast<std::uint32_t>(out_.ks.size());
    return std::move(out_);
  }

 private:
  std::uint32_t copy(const Node& node) {
    Node mine = node;
    for (auto& item : mine.items) {
      if (item.is_node()) {
        item.node = copy(from_.nodes[item.node]);
        continue;
      }
      const auto begin = static_cast<std::uint32_t>(out_.ks.size());
      for (std::uint32_t i = 0; i < item.count; ++i) out_.ks.push_back(from_.ks[item.begin + i] - base_);
      item.begin = begin;
    }
    out_.nodes.push_back(std::move(mine));
    return static_cast<std::uint32_t>(out_.nodes.size() - 1);
  }
  const Tree& from_;
  std::uint32_t base_;
  Tree out_;
};

struct Span {
  std::uint32_t least = 0xffffffffu, most = 0, count = 0;
  void add(const Span& x) {
    least = std::min(least, x.least);
    most = std::max(most, x.most);
    count += x.count;
  }
  bool consecutive() const { return count > 0 && most - least + 1 == count; }
};

Span span_of(const Tree& t, const Item& item) {
  Span s;
  if (item.is_node()) {
    for (const auto& x : t.nodes[item.node].items) s.add(span_of(t, x));
    return s;
  }
  for (std::uint32_t i = 0; i < item.count; ++i) s.add({t.ks[item.begin + i], t.ks[item.begin + i], 1});
  return s;
}

// The root with the nodes that merely continue it (a first item that is a node of the same kind) written out.
std::vector<Item> flat_items(const Tree& t, const Node& node) {
  std::vector<Item> items = node.items;
  while (!items.empty() && items.front().is_node()) {
    const auto& first = t.nodes[items.front().node];
    if (first.wide != node.wide || first.start_negative != node.start_negative || first.round != Format::none) break;
    std::vector<Item> longer = first.items;
    longer.insert(longer.end(), items.begin() + 1, items.end());
    items = std::move(longer);
  }
  return items;
}

struct Piece {
  std::vector<Item> items;
  Span span;
};

// The ways to read the root as consecutive pieces of k added from left to right; what stands first may itself be such a sum,
// so there can be several. The shortest first piece comes first. Empty: no such form.
std::vector<std::vector<Piece>> pieces_of(const Tree& t) {
  const auto items = flat_items(t, t.nodes[t.root]);
  std::vector<Span> spans;
  for (const auto& item : items) spans.push_back(span_of(t, item));
  std::size_t tail = items.size();  // items[tail..] are nodes over consecutive leaves, one behind the other
  while (tail > 1 && items[tail - 1].is_node() && spans[tail - 1].consecutive() &&
         (tail == items.size() || spans[tail - 1].most + 1 == spans[tail].least))
    --tail;
  std::vector<std::vector<Piece>> ways;
  Piece head;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i >= tail && head.span.consecutive() && head.span.least == 0 && head.span.most + 1 == spans[i].least) {
      std::vector<Piece> pieces{head};
      for (std::size_t j = i; j < items.size(); ++j) pieces.push_back({{items[j]}, spans[j]});
      ways.push_back(std::move(pieces));
    }
    head.items.push_back(items[i]);
    head.span.add(spans[i]);
  }
  return ways;
}

bool lone_product(const Tree& t, const Item& item) {
  if (!item.is_node()) return false;
  const auto& node = t.nodes[item.node];
  return node.items.size() == 1 && !node.items[0].is_node() && node.items[0].count == 1 && node.items[0].op == Op::fma && !node.wide;
}

struct Shape {
  std::size_t chains = 0;  // nodes that begin with leaves
  bool any_fma = false, any_mul = false, any_mul_f32 = false, wide = false, all_wide = true, negative = false;
  std::size_t lone = 0;  // finished sums of one product
  std::uint16_t block = 0, fraction = 0;
  std::uint32_t residue = 0;
  bool mma = false, exact = false;
  std::size_t first_chain = 0;  // leaves of the chain that holds leaf 0 or stands first
};

Shape shape_of(const Tree& t) {
  Shape s;
  for (const auto& node : t.nodes) {
    (node.wide ? s.wide : s.all_wide) = node.wide;
    s.negative |= node.start_negative;
    for (std::size_t i = 1; i < node.items.size(); ++i) s.lone += lone_product(t, node.items[i]);
    if (!node.items.empty() && !node.items.front().is_node()) ++s.chains;
    for (const auto& item : node.items) {
      if (item.is_node()) continue;
      s.any_fma |= item.op == Op::fma;
      s.any_mul |= item.op == Op::mul;
      s.any_mul_f32 |= item.op == Op::mul_f32;
      s.exact |= item.op == Op::exact;
      if (item.op == Op::mma) s.mma = true, s.block = item.block, s.fraction = item.fraction, s.residue = item.residue;
      if (s.first_chain == 0) s.first_chain = item.count;
    }
  }
  return s;
}

// The tree with finished sums of one product, `(k)`, joined as `k:mul`: the same but for products that are -0.
Tree with_products(const Tree& tree) {
  Tree out = tree;
  for (auto& node : out.nodes)
    for (std::size_t i = 0; i < node.items.size(); ++i)
      if (i > 0 && lone_product(tree, node.items[i])) {
        node.items[i] = tree.nodes[node.items[i].node].items[0];
        node.items[i].op = Op::mul;
      }
  // The nodes that nothing refers to any more stay; hash and text begin at the root.
  return out;
}

class Recogniser {
 public:
  explicit Recogniser(const Tree& tree)
      : tree_(tree), hash_(tree.hash()), products_hash_(with_products(tree).hash()), k_(tree.k), shape_(shape_of(tree)) {}

  // Texts of plain rules that give this tree, few and short ones first.
  std::vector<std::string> rules(int depth) {
    for (const auto& leaf : leaves()) {
      offer(leaf);
      if (!found_.empty()) return found_;  // a chain is a chain
      for (std::size_t seed = 1; seed < std::min<std::size_t>(k_, 4); ++seed) offer(seeded(leaf, seed));
      if (k_ > 1) offer("reverse > " + leaf);
    }
    if (found_.empty()) pairwise();
    const bool halves = !found_.empty() && found_.front().rfind("pairwise", 0) == 0;
    if ((found_.empty() || halves) && depth > 0) cuts(depth);
    lanes();
    std::stable_sort(found_.begin(), found_.end(), [](const auto& x, const auto& y) { return length(x) < length(y); });
    if (found_.size() > max_candidates) found_.resize(max_candidates);
    return found_;
  }

 private:
  // "half" says no more than a digit does, and tail=lanes no more than another tail.
  static std::size_t length(const std::string& text) {
    std::size_t n = text.size();
    if (text.find("=half)") != std::string::npos || text.find("=half,") != std::string::npos) n -= 4;
    if (text.find("tail=lanes") != std::string::npos) n -= 3;
    return n;
  }

  bool offer(const std::string& text) {
    if (!tried_.insert(text).second) return false;
    const auto t = expand(text, k_);
    if (!t || (t->hash() != hash_ && t->hash() != products_hash_)) return false;
    found_.push_back(text);
    return true;
  }

  static std::string seeded(const std::string& leaf, std::size_t seed) {
    return leaf.back() == ')' ? fmt::format("{}, seed={})", leaf.substr(0, leaf.size() - 1), seed) : fmt::format("{}(seed={})", leaf, seed);
  }

  std::vector<std::string> leaves() const {
    if (shape_.exact) return {"exact"};
    if (shape_.mma)
      return {fmt::format("mma({},{})", shape_.block, shape_.fraction),
              fmt::format("mma({},{}, first={})", shape_.block, shape_.fraction, std::max(1u, shape_.residue)),
              fmt::format("mma({},{}, first=32)", shape_.block, shape_.fraction)};
    const std::string start = shape_.negative ? "(start=first)" : "";
    if (shape_.wide && shape_.all_wide)
      return shape_.any_mul_f32 ? std::vector<std::string>{"f64 > mul(round=f32)"} : std::vector<std::string>{"f64 > fma" + start};
    if (shape_.any_fma && shape_.any_mul) return {"fma" + start, "mul" + start};
    return {(shape_.any_fma ? "fma" : "mul") + start};
  }

  void pairwise() {
    std::set<std::size_t> bases{1, 2, 4, 8, 16, 32, 64, 128, 256, shape_.first_chain, 2 * shape_.first_chain};
    for (const auto base : bases)
      if (base > 0 && base < k_)
        for (const auto& leaf : leaves())
          if (offer(fmt::format("pairwise({}) > {}", base, leaf))) return;
  }

  // chunks(...) and split(...) before what their pieces are.
  void cuts(int depth) {
    auto ways = pieces_of(tree_);
    // A rule makes pieces of about one size: look at the first reading, and at those whose first piece is like the next.
    std::vector<std::vector<Piece>> likely;
    for (std::size_t i = 0; i < ways.size() && likely.size() < 6; ++i) {
      const auto x = ways[i][0].span.count, y = ways[i][1].span.count;
      if (i == 0 || (x < 2 * y + 2 && y < 2 * x + 2)) likely.push_back(std::move(ways[i]));
    }
    for (const bool lists : {false, true})
      for (const auto& pieces : likely) {
        if (lists && !found_.empty()) return;
        std::vector<std::size_t> sizes;
        for (const auto& p : pieces) sizes.push_back(p.span.count);
        const auto outer = lists ? std::vector<std::string>{fmt::format("chunks({})", fmt::join(sizes, ", "))} : cut_texts(sizes);
        if (outer.empty() || (lists && sizes.size() > 64)) continue;
        const auto largest = static_cast<std::size_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
        for (const auto which : std::set<std::size_t>{0, largest}) {
          const auto part = part_tree(pieces[which]);
          for (const auto& in : Recogniser(part).rules(depth - 1))
            for (const auto& out : outer) offer(out + " > " + in);
        }
      }
    // Pieces that are not added from left to right: equal chains folded by halves, pairs, ...
    const std::size_t n = shape_.chains;
    if (!found_.empty() || n < 2 || n > 4096) return;
    for (const auto& leaf : leaves())
      for (const char* fold : {"halves", "pairs", "hadd"}) {
        if (shape_.first_chain > 0) offer(fmt::format("chunks({}, fold={}) > {}", shape_.first_chain, fold, leaf));
        offer(fmt::format("split({}, fold={}) > {}", n, fold, leaf));
      }
  }

  Tree part_tree(const Piece& piece) const {
    if (piece.items.size() == 1 && piece.items[0].is_node()) {
      const auto& node = tree_.nodes[piece.items[0].node];
      return Extract(tree_, piece.span.least)(node.items, node);
    }
    return Extract(tree_, piece.span.least)(piece.items, tree_.nodes[tree_.root]);
  }

  // Cuts of k that give pieces of these sizes.
  std::vector<std::string> cut_texts(const std::vector<std::size_t>& sizes) const {
    std::vector<std::string> texts;
    const auto& first = sizes.front();
    std::set<std::size_t> blocks{first, sizes[sizes.size() > 2 ? 1 : 0]};
    for (const std::size_t q : {112, 128, 192, 208, 240, 256, 288, 320, 336, 352, 384, 448, 480, 504, 512, 640, 768, 1024})
      if (sizes.size() == 2 && q >= first && q < 2 * first + 64) blocks.insert(q);
    for (const auto q : blocks) {
      texts.push_back(fmt::format("chunks({})", q));
      for (const char* balance : {"half", "2", "4", "8", "16", "32"}) texts.push_back(fmt::format("chunks({}, balance={})", q, balance));
      if (sizes.back() > q) texts.push_back(fmt::format("chunks({}, max={})", q, sizes.back()));
      texts.push_back(fmt::format("chunks({}, short=first)", q));
      texts.push_back(fmt::format("chunks({}, short=second)", q));
    }
    if (sizes.size() > 2 && sizes[1] > first) texts.push_back(fmt::format("chunks({}, short=first)", sizes[1]));
    // Equal pieces of a usual block length are blocks, others are shares.
    const bool blocks_of_8 = first % 8 == 0 && first >= 32 && sizes.back() <= first;
    if (!blocks_of_8) texts.push_back(fmt::format("split({})", sizes.size()));
    if (sizes.size() > 2) texts.push_back(fmt::format("split({}, floor)", sizes.size() - 1));
    if (!blocks_of_8) texts.push_back(fmt::format("split({}, floor)", sizes.size()));
    // The sizes alone decide; the pieces' insides come later.
    std::vector<std::string> out;
    for (const auto& text : texts) {
      const auto t = expand(text + " > fma", k_);
      if (!t) continue;
      for (const auto& p : pieces_of(*t))
        if (p.size() == sizes.size() && std::equal(p.begin(), p.end(), sizes.begin(), [](const Piece& x, std::size_t n) { return x.span.count == n; })) {
          out.push_back(text);
          break;
        }
    }
    return out;
  }

  // Number and width of lanes as the longest chain shows them; {0, 0} when no chain is long enough.
  std::pair<std::size_t, std::size_t> lane_pattern() const {
    const Item* longest = nullptr;
    for (const auto& node : tree_.nodes)
      for (const auto& item : node.items)
        if (!item.is_node() && (longest == nullptr || item.count > longest->count)) longest = &item;
    if (longest == nullptr || longest->count < 2) return {0, 0};
    const auto* ks = tree_.ks.data() + longest->begin;
    std::size_t width = 1;
    while (width < longest->count && ks[width] == ks[width - 1] + 1) ++width;
    if (width == longest->count) return {0, 0};
    return {(ks[width] - ks[0]) / width, width};
  }

  // The fold of one chain a lane, written out, where no word names it.
  std::string fold_tree(const Node& node, std::size_t lanes, std::size_t width) const {
    std::string out;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto& item = node.items[i];
      if (!item.is_node() && i > 0) return "";
      const auto inner = item.is_node() ? fold_tree(tree_.nodes[item.node], lanes, width)
                                        : std::to_string(tree_.ks[item.begin] / width % lanes);
      if (inner.empty()) return "";
      const bool sum = inner.find('+') != std::string::npos;
      out += i == 0 ? inner : sum ? " + (" + inner + ")" : " + " + inner;
    }
    return out;
  }

  void lanes() {
    const std::size_t n = shape_.chains;
    if (n < 2 || n > 260) return;
    std::set<std::string> folds{"left", "halves", "pairs", "hadd"};
    std::vector<std::string> ends{""};
    if (shape_.any_fma && (shape_.any_mul || shape_.lone > 0)) ends = {"", ", tailop=mul", ", tailop=fma"};
    if (shape_.any_mul_f32 && !shape_.all_wide) ends = {", tailop=f64mul"};
    const auto [lanes_seen, width_seen] = lane_pattern();
    const auto numbers = lanes_seen >= 2 ? std::set<std::size_t>{lanes_seen} : std::set<std::size_t>{n, n - 1, n + 1, n - 2, n - shape_.lone};
    const auto widths = lanes_seen >= 2 ? std::set<std::size_t>{width_seen} : std::set<std::size_t>{1, 2};
    for (const std::size_t v : numbers) {
      if (v < 2 || v > k_) continue;
      auto v_folds = v == 2 ? std::set<std::string>{"left"} : folds;
      for (const auto w : widths) {
        // The fold stands alone, before a tail, or is a float sum that a wider one goes on from.
        Node fold_node = tree_.nodes[tree_.root];
        std::vector<Node> candidates{fold_node};
        if (fold_node.items.size() > 1) {
          fold_node.items.pop_back();
          candidates.push_back(fold_node);
        }
        if (!fold_node.items.empty() && fold_node.items[0].is_node()) candidates.push_back(tree_.nodes[fold_node.items[0].node]);
        for (const auto& node : candidates)
          if (const auto written = fold_tree(node, v, w); v > 2 && v <= 64 && !written.empty()) v_folds.insert("tree(" + written + ")");
        for (const std::size_t times : {1, 2, 4, 8, 16})
          for (const auto& fold : v_folds)
            for (const char* tail : {"lanes", "chain", "sum", "lane0", "first"})
              for (const auto& end : ends)
                for (const auto& leaf : leaves()) {
                  if (times > 1 && (v * w * times > k_ || std::string_view(tail) == "lanes")) continue;
                  const auto step = times == 1 ? "" : fmt::format(", step={}", v * w * times);
                  offer(fmt::format("lanes({}{}{}, fold={}, tail={}{}) > {}", v, w == 1 ? "" : fmt::format(", width={}", w), step, fold, tail,
                                    end, leaf));
                }
      }
    }
    if (!found_.empty()) return;
    // An alignment peel: some leaves go to a lane before the pattern begins.
    for (const std::size_t v : lanes_seen >= 2 ? std::set<std::size_t>{lanes_seen} : std::set<std::size_t>{n, n - 1})
      if (v >= 2)
        for (std::size_t head = 1; head < 16 && head < k_; ++head)
          for (std::size_t lane = 0; lane < std::min<std::size_t>(v, 2); ++lane)
            for (const auto& fold : v == 2 ? std::set<std::string>{"left"} : folds)
              for (const char* tail : {"lanes", "chain", "sum", "lane0"})
                for (const auto& leaf : leaves())
                  offer(fmt::format("lanes({}, head={}@{}, fold={}, tail={}) > {}", v, head, lane, fold, tail, leaf));
  }

  const Tree& tree_;
  Tree::Hash hash_, products_hash_;
  std::size_t k_;
  Shape shape_;
  std::set<std::string> tried_;
  std::vector<std::string> found_;
};

}  // namespace

std::optional<Order> recognise(const Tree& tree) {
  const auto rules = Recogniser(tree).rules(2);
  if (!rules.empty()) return Order::parse(rules.front());
  const bool mul = tree.main_op() == Op::mul;
  for (const char* leaf : {mul ? "mul" : "fma", mul ? "fma" : "mul", "mul(start=first)", "fma(start=first)"}) {
    try {
      const auto order = Order::parse(fmt::format("tree({}) > {}", tree.text(), leaf));
      if (order.tree(tree.k).hash() == tree.hash()) return order;
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

}  // namespace samebits::explain
