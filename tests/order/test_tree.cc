// SPDX-License-Identifier: Apache-2.0
// Equivalence: hash and canonical text, on all small trees and on random ones.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>

#include "order/random.h"
#include "order/tree_text.h"

using namespace samebits;

namespace {

// All trees over a set of leaves: the leaf alone, leaf joins, and adds of two parts, from +0.
class AllTrees {
 public:
  AllTrees(std::uint32_t k, Op op) : k_(k), op_(op) {}

  void run(const std::function<void(const Tree&)>& visit) {
    for (Node& node : nodes((1u << k_) - 1)) {
      Tree tree;
      tree.k = k_;
      Builder builder{tree};
      tree.root = builder.add(node);
      visit(tree);
    }
  }

 private:
  // Nodes hold their parts by index into made_; leaves by k.
  struct Builder {
    Tree& tree;
    std::uint32_t add(const Node& node) {
      Node copy = node;
      for (Item& item : copy.items) {
        if (item.is_node()) {
          item.node = add(AllTrees::made_[item.node]);
        } else {
          tree.ks.push_back(item.begin);
          item.begin = static_cast<std::uint32_t>(tree.ks.size() - 1);
        }
      }
      tree.nodes.push_back(std::move(copy));
      return static_cast<std::uint32_t>(tree.nodes.size() - 1);
    }
  };

  std::vector<Node> nodes(std::uint32_t set) {
    std::vector<Node> all;
    for (std::uint32_t k = 0; k < k_; ++k) {
      if (!(set >> k & 1)) continue;
      const Item leaf{.begin = k, .count = 1, .op = op_};
      if (set == 1u << k)
        all.push_back(Node{{leaf}});
      else
        for (Node& node : nodes(set & ~(1u << k))) {
          node.items.push_back(leaf);
          all.push_back(std::move(node));
        }
    }
    for (std::uint32_t part = (set - 1) & set; part > 0; part = (part - 1) & set)
      for (Node& x : nodes(part))
        for (Node& y : nodes(set & ~part)) {
          made_.push_back(x);
          made_.push_back(y);
          const auto last = static_cast<std::uint32_t>(made_.size() - 1);
          all.push_back(Node{{Item{.node = last - 1}, Item{.node = last}}});
        }
    return all;
  }

  const std::uint32_t k_;
  const Op op_;
  static inline std::vector<Node> made_;
};

TEST(Tree, CountsOfInequivalentTrees) {
  const std::size_t fma[] = {1, 3, 18, 171, 2250}, mul[] = {1, 1, 3, 15, 105};
  for (Op op : {Op::fma, Op::mul})
    for (std::uint32_t k = 1; k <= 5; ++k) {
      std::set<Tree::Hash> hashes;
      std::set<std::string> texts;
      AllTrees(k, op).run([&](const Tree& tree) {
        hashes.insert(tree.hash());
        texts.insert(tree.text());
      });
      const std::size_t expected = op == Op::fma ? fma[k - 1] : mul[k - 1];
      EXPECT_EQ(hashes.size(), expected) << "k = " << k;
      EXPECT_EQ(texts.size(), expected) << "k = " << k;
    }
}

// Text of a tree as an order again, where the language can write it.
Tree parse_back(const Tree& tree) {
  const Op op = tree.main_op();
  return Order::parse("tree(" + tree.text() + ") > " + (op == Op::fma ? "fma" : "mul")).tree(tree.k);
}

TEST(Tree, RandomTreesKeepTheirHashWhenAddsCommute) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 3000; ++i) {
    Tree tree = order::random_tree(rng, 1 + static_cast<std::uint32_t>(rng() % 40), rng() % 2 ? Op::fma : Op::mul);
    if (rng() % 2)
      for (Node& node : tree.nodes)
        for (Item& item : node.items)
          if (rng() % 8 == 0 && !item.is_node()) item.op = item.op == Op::fma ? Op::mul : Op::fma;
    if (rng() % 4 == 0)
      for (Node& node : tree.nodes) node.start_negative = rng() % 2;
    if (rng() % 4 == 0)
      for (Node& node : tree.nodes) node.wide = rng() % 2;
    const Tree other = order::commuted(rng, tree);
    EXPECT_EQ(tree.hash(), other.hash()) << tree.text() << "\n" << other.text();
    EXPECT_EQ(tree.text(), other.text());
    const Tree again = parse_back(tree);
    EXPECT_EQ(order::tree_text(again, tree.main_op(), false), tree.text());
    EXPECT_EQ(again.hash(), tree.hash()) << tree.text();
  }
}

TEST(Tree, EqualHashMeansEqualText) {
  std::mt19937_64 rng(2);
  std::map<Tree::Hash, std::string> seen;
  for (int i = 0; i < 100000; ++i) {
    Tree tree = order::random_tree(rng, 4, Op::fma);
    for (Node& node : tree.nodes) {
      node.start_negative = rng() % 2;
      for (Item& item : node.items)
        if (rng() % 2 && !item.is_node()) item.op = Op::mul;
    }
    const std::string text = order::tree_text(tree, Op::fma, false);  // Tree::text leaves out the op of most leaves
    const auto [place, fresh] = seen.emplace(tree.hash(), text);
    EXPECT_TRUE(fresh || place->second == text) << place->second << "\n" << text;
  }
  std::set<std::string> texts;
  for (const auto& [hash, text] : seen) texts.insert(text);
  EXPECT_EQ(texts.size(), seen.size());
}

std::string text(std::string_view order, std::size_t k) {
  return Order::parse(order).tree(k).text();
}
Tree::Hash hash(std::string_view order, std::size_t k) {
  return Order::parse(order).tree(k).hash();
}

TEST(Tree, ProductsAddedToASum) {
  // k and (k) are one value for mul from +0, two for fma.
  EXPECT_EQ(text("tree(0 + (1) + (2 + (3))) > mul", 4), "0 + 1 + (2 + 3)");
  EXPECT_EQ(text("tree(0 + (1) + (2 + (3))) > fma", 4), "0 + (1) + (2 + (3))");
  // A sum that holds a fused step can be -0, and then +0 + round(a*b) and round(a*b) differ.
  EXPECT_EQ(text("tree([0..2] + (3:mul)) > fma", 4), "[0..2] + (3:mul)");
  EXPECT_NE(hash("tree([0..2] + (3:mul)) > fma", 4), hash("tree([0..2] + 3:mul) > fma", 4));
  // From -0 a single product is its own rounded value: joined or added, the same.
  EXPECT_EQ(hash("tree(0 + (1) + 2) > mul(start=first)", 3), hash("mul(start=first)", 3));
  EXPECT_NE(hash("mul(start=first)", 3), hash("mul", 3));
}

TEST(Tree, Precision) {
  EXPECT_EQ(text("split(2) > f64 > fma", 4), "f64(0 + 1) + f64(2 + 3)");
  EXPECT_EQ(text("f64 > split(2) > fma", 4), "f64(0 + 1 + (2 + 3))");
  EXPECT_NE(hash("split(2) > f64 > fma", 4), hash("f64 > split(2) > fma", 4));
  EXPECT_NE(hash("f64 > fma", 4), hash("fma", 4));
  // Nothing is left for the tail: the float lanes alone.
  EXPECT_EQ(hash("lanes(2, fold=left, tail=sum, tailop=f64mul) > fma", 4), hash("lanes(2, fold=left, tail=sum) > fma", 4));
  EXPECT_EQ(text("out(bf16) > split(2, partial=out) > fma", 4), "bf16(0 + 1) + bf16(2 + 3)");
}

TEST(Tree, LongOnesAreQuick) {
  for (const char* order : {"fma", "mul", "reverse > mul", "chunks(1) > fma", "lanes(16, fold=halves, tail=lanes) > fma"}) {
    const Tree tree = Order::parse(order).tree(200000);
    const auto start = std::chrono::steady_clock::now();
    tree.hash();
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LT(ms, 500) << order;
    EXPECT_FALSE(tree.text().empty());
    compile(tree);
  }
}

}  // namespace
