// SPDX-License-Identifier: Apache-2.0
// Every stage and option against trees written by hand.
#include <gtest/gtest.h>

#include "samebits/order.h"

using namespace samebits;

namespace {

std::string tree(std::string_view order, std::size_t k) {
  return Order::parse(order).tree(k).text();
}

std::vector<std::uint32_t> piece_sizes(std::string_view order, std::size_t k) {
  const Tree tree = Order::parse(order).tree(k);
  std::vector<std::uint32_t> sizes;
  for (const Item& piece : tree.nodes[tree.root].items) {
    EXPECT_TRUE(piece.is_node());
    sizes.push_back(tree.nodes[piece.node].items.at(0).count);
  }
  return sizes;
}
using Sizes = std::vector<std::uint32_t>;

TEST(Leaf, Ops) {
  EXPECT_EQ(tree("fma", 1), "0");
  EXPECT_EQ(tree("fma", 2), "0 + 1");
  EXPECT_EQ(tree("fma", 3), "[0..2]");
  EXPECT_EQ(tree("mul", 3), "[0..2]");
  EXPECT_EQ(tree("exact", 3), "[0..2]:exact");
  for (const char* order :
       {"fma", "mul", "exact", "mma(4,24)", "lanes(4, tail=chain) > fma", "chunks(2) > mul", "f64 > fma"})
    EXPECT_EQ(tree(order, 0), "+0") << order;
  EXPECT_EQ(Order::parse("fma(start=first)").tree(0).text(), "+0");
  const Tree mul = Order::parse("f64 > mul(round=f32)").tree(3);
  EXPECT_EQ(mul.nodes[mul.root].items.at(0).op, Op::mul_f32);
  EXPECT_TRUE(mul.nodes[mul.root].wide);
}

TEST(Leaf, Start) {
  EXPECT_EQ(tree("fma(start=first)", 3), "-0 + [0..2]");
  EXPECT_EQ(tree("chunks(2) > mul(start=first)", 3), "-0 + [0..2]");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=sum) > fma(start=first)", 5), "-0 + 0 + 2 + (-0 + 1 + 3) + 4:mul");
}

TEST(Leaf, Seed) {
  EXPECT_EQ(tree("fma(seed=0)", 4), "[0..3]");
  EXPECT_EQ(tree("fma(seed=1)", 4), "1 + 0 + 2 + 3");
  EXPECT_EQ(tree("fma(seed=3)", 4), "3 + [0..2]");
  EXPECT_EQ(tree("fma(seed=4)", 4), "[0..3]");  // shorter than that: as it is
  EXPECT_EQ(tree("chunks(4) > fma(seed=1)", 9), "1 + 0 + 2 + 3 + (5 + 4 + 6 + 7) + (8)");
}

TEST(Leaf, Mma) {
  EXPECT_EQ(tree("mma(4,24)", 6), "[0..5]:mma(4,24)");
  EXPECT_EQ(tree("mma(4,24, first=4)", 6), "{0 + 1}:mma(4,24) + [2..5]:mma(4,24)");
  EXPECT_EQ(tree("reverse > mma(4,24)", 6), "{[2..5] + 0 + 1}:mma(4,24)");
  EXPECT_EQ(tree("tf32(rna) > mma(ampere)", 3), "[0..2]:mma(4,24)");
  EXPECT_EQ(tree("tf32(rna) > mma(hopper)", 3), "[0..2]:mma(8,25)");
  EXPECT_EQ(tree("bf16(rne) > mma(ampere)", 3), "[0..2]:mma(8,24)");
  EXPECT_EQ(tree("fp16(rne) > mma(hopper)", 3), "[0..2]:mma(16,25)");
  EXPECT_EQ(tree("split(2) > mma(4,24)", 6), "[0..2]:mma(4,24) + ([3..5]:mma(4,24))");
  const Tree residue = Order::parse("mma(8,25, first=32)").tree(70);
  EXPECT_EQ(residue.nodes[residue.root].items.at(0).residue, 6u);
  EXPECT_EQ(residue.nodes[residue.root].items.at(0).block, 8);
  EXPECT_EQ(residue.nodes[residue.root].items.at(0).fraction, 25);
  EXPECT_EQ(Order::parse("fp16(rne) > mma(8,24)").tree(8).nodes[0].items[0].emin, -14);
}

TEST(Chunks, Pieces) {
  EXPECT_EQ(tree("chunks(256) > fma", 257), "[0..255] + (256)");
  EXPECT_EQ(piece_sizes("chunks(3) > fma", 7), (Sizes{3, 3, 1}));
  EXPECT_EQ(piece_sizes("chunks(3) > fma", 3), (Sizes{3}));
  EXPECT_EQ(piece_sizes("chunks(2,3,1) > fma", 6), (Sizes{2, 3, 1}));
  EXPECT_EQ(piece_sizes("chunks(256, balance=4) > fma", 401), (Sizes{200, 201}));
  EXPECT_EQ(piece_sizes("chunks(320, balance=8) > fma", 337), (Sizes{168, 169}));
  EXPECT_EQ(piece_sizes("chunks(256, balance=half) > fma", 401), (Sizes{201, 200}));
  EXPECT_EQ(piece_sizes("chunks(320, balance=half) > fma", 337), (Sizes{169, 168}));
  EXPECT_EQ(piece_sizes("chunks(320, balance=8) > fma", 1000), (Sizes{320, 320, 184, 176}));
  EXPECT_EQ(piece_sizes("chunks(320, balance=8) > fma", 640), (Sizes{320, 320}));
  EXPECT_EQ(piece_sizes("chunks(320, balance=8) > fma", 320), (Sizes{320}));
  EXPECT_EQ(piece_sizes("chunks(10, balance=1000) > fma", 15), (Sizes{15}));
  EXPECT_EQ(piece_sizes("chunks(384, max=480) > fma", 1200), (Sizes{384, 384, 432}));
  EXPECT_EQ(piece_sizes("chunks(384, max=480) > fma", 480), (Sizes{480}));
  EXPECT_EQ(piece_sizes("chunks(384, max=480) > fma", 481), (Sizes{384, 97}));
  EXPECT_EQ(piece_sizes("chunks(4, rest=2) > mul", 11), (Sizes{4, 4, 2, 1}));
  EXPECT_EQ(piece_sizes("chunks(4, rest=2) > mul", 8), (Sizes{4, 4}));
  EXPECT_EQ(piece_sizes("chunks(4, short=first) > fma", 10), (Sizes{2, 4, 4}));
  EXPECT_EQ(piece_sizes("chunks(4, short=second) > fma", 10), (Sizes{4, 2, 4}));
  EXPECT_EQ(piece_sizes("chunks(4, short=second) > fma", 3), (Sizes{3}));
  EXPECT_EQ(piece_sizes("chunks(4, short=second) > fma", 8), (Sizes{4, 4}));
  EXPECT_THROW(Order::parse("chunks(2,3) > fma").tree(6), Error);
}

TEST(Chunks, Joins) {
  EXPECT_EQ(tree("chunks(4, join=alternate) > mul", 18), "[0..3] + ([4..7]) + [8..11] + ([12..15]) + 16 + 17");
  EXPECT_EQ(tree("chunks(2, join=alternate) > fma", 7), "0 + 1 + (2 + 3) + 4 + 5 + (6)");
  EXPECT_EQ(tree("chunks(1, fold=pairs) > fma", 5), "0 + (1) + (2 + (3)) + (4)");
  EXPECT_EQ(tree("chunks(1, fold=halves) > fma", 5), "0 + (3) + (2) + (1 + (4))");
  EXPECT_EQ(tree("chunks(1, fold=hadd) > fma", 6), "0 + (3) + (1 + (4)) + (2 + (5))");
  EXPECT_EQ(tree("chunks(2, fold=tree(1 + (0 + 2))) > fma", 6), "0 + 1 + (4 + 5) + (2 + 3)");
  EXPECT_THROW(Order::parse("chunks(2, fold=tree(0 + 1)) > fma").tree(6), Error);
}

TEST(Split, Pieces) {
  EXPECT_EQ(piece_sizes("split(4) > fma", 10), (Sizes{3, 3, 3, 1}));
  EXPECT_EQ(piece_sizes("split(4) > fma", 9), (Sizes{3, 3, 3}));
  EXPECT_EQ(piece_sizes("split(4) > fma", 2), (Sizes{1, 1}));
  EXPECT_EQ(piece_sizes("split(4, floor) > fma", 10), (Sizes{2, 2, 2, 2, 2}));
  EXPECT_EQ(piece_sizes("split(4, floor) > fma", 8), (Sizes{2, 2, 2, 2}));
  EXPECT_EQ(piece_sizes("split(4, floor) > fma", 3), (Sizes{3}));
  EXPECT_EQ(piece_sizes("split(2, floor) > fma", 333), (Sizes{166, 166, 1}));
  EXPECT_EQ(tree("split(4, fold=halves) > fma", 8), "0 + 1 + (4 + 5) + (2 + 3 + (6 + 7))");
  EXPECT_EQ(tree("split(2) > chunks(2) > fma", 8), "0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))");
  EXPECT_EQ(tree("out(fp16) > split(2, partial=out) > fma", 5), "fp16([0..2]) + fp16(3 + 4)");
}

TEST(Pairwise, Halves) {
  EXPECT_EQ(tree("pairwise(8) > fma", 8), "[0..7]");
  EXPECT_EQ(tree("pairwise(2) > fma", 7), "0 + 1 + (2 + 3) + (4 + 5 + (6))");
  EXPECT_EQ(tree("pairwise(1) > mul", 8), "0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))");
}

TEST(Reverse, List) {
  EXPECT_EQ(tree("reverse > chunks(2) > fma", 5), "0 + (2 + 1 + (4 + 3))");
  EXPECT_EQ(tree("chunks(3) > reverse > fma", 5), "[2..0:-1] + (4 + 3)");
  EXPECT_EQ(tree("reverse > reverse > fma", 5), "[0..4]");
}

TEST(Lanes, MapOfPositions) {
  EXPECT_EQ(tree("lanes(4, fold=left, tail=lanes) > fma", 10), "[0..8:4] + ([1..9:4]) + (2 + 6) + (3 + 7)");
  EXPECT_EQ(tree("lanes(2, width=2, fold=left, tail=lanes) > fma", 10), "0 + 1 + 4 + 5 + 8 + 9 + (2 + 3 + 6 + 7)");
  EXPECT_EQ(tree("lanes(4, fold=left, tail=lanes) > fma", 2), "0 + (1)");
  EXPECT_EQ(tree("reverse > lanes(2, fold=left, tail=lanes) > fma", 5), "[4..0:-2] + (3 + 1)");
}

TEST(Lanes, Tails) {
  EXPECT_EQ(tree("lanes(2, fold=left, tail=chain) > fma", 5), "0 + 2 + (1 + 3) + 4");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=sum) > fma", 5), "0 + 2 + (1 + 3) + (4)");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=lane0) > fma", 5), "[0..4:2] + (1 + 3)");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=first) > fma", 5), "0 + (1 + 3 + (2 + 4))");
  EXPECT_EQ(tree("lanes(2, step=4, fold=left, tail=chain) > fma", 7), "0 + 2 + (1 + 3) + [4..6]");
  EXPECT_EQ(tree("lanes(2, step=8, fold=left, tail=lane0) > fma", 11), "[0..8:2] + 9 + 10 + ([1..7:2])");
  for (const char* tail : {"chain", "sum", "lane0", "first"})  // too few for the lanes: the tail is all
    EXPECT_EQ(tree("lanes(8, fold=halves, tail=" + std::string(tail) + ") > fma", 5), "[0..4]");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=chain, tailop=mul) > fma", 5), "0 + 2 + (1 + 3) + 4:mul");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=sum, tailop=fma) > mul", 6), "[0..4:2] + ([1..5:2])");
  EXPECT_EQ(tree("lanes(2, step=4, fold=left, tail=lanes, tailop=fma) > mul", 6), "0 + 2 + 4:fma + (1 + 3 + 5:fma)");
  EXPECT_EQ(tree("lanes(2, step=4, fold=left, tail=sum, tailop=f64mul) > fma", 7),
            "f64(f32(0 + 2 + (1 + 3)) + ([4..6]:mul_f32))");
  EXPECT_EQ(tree("lanes(2, step=4, fold=left, tail=sum, tailop=f64mul) > fma", 3), "f64([0..2]:mul_f32)");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=sum) > fma(seed=1)", 7), "2 + 0 + 4 + (3 + 1 + 5) + (6)");
}

TEST(Lanes, Heads) {
  EXPECT_EQ(tree("lanes(4, head=1@0, fold=halves, tail=chain) > mul", 5), "0 + 1 + 3 + (2 + 4)");
  EXPECT_EQ(tree("lanes(2, head=3@1, fold=left, tail=lanes) > fma", 7), "[0..2] + 4 + 6 + (3 + 5)");
  EXPECT_EQ(tree("lanes(4, head=4@0..1, fold=left, tail=lanes) > fma", 6), "[0..4:2] + ([1..5:2])");
  EXPECT_EQ(tree("lanes(8, head=4@0..3, fold=left, tail=lanes) > fma", 8), "0 + 4 + (1 + 5) + (2 + 6) + (3 + 7)");
  EXPECT_EQ(tree("lanes(4, head=9@2, fold=pairs, tail=chain) > fma", 3), "[0..2]");
}

TEST(Lanes, Folds) {
  auto fold = [](int lanes, const std::string& fold, std::size_t k) {
    return tree("lanes(" + std::to_string(lanes) + ", fold=" + fold + ", tail=lanes) > mul", k);
  };
  EXPECT_EQ(fold(8, "left", 8), "[0..7]");
  EXPECT_EQ(fold(8, "halves", 8), "0 + 4 + (2 + 6) + (1 + 5 + (3 + 7))");
  EXPECT_EQ(fold(8, "pairs", 8), "0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))");
  EXPECT_EQ(fold(8, "hadd", 8), "0 + 4 + (1 + 5) + (2 + 6 + (3 + 7))");
  EXPECT_EQ(fold(5, "halves", 5), "0 + 3 + 2 + (1 + 4)");
  EXPECT_EQ(fold(5, "pairs", 5), "0 + 1 + (2 + 3) + 4");
  EXPECT_EQ(fold(5, "hadd", 5), "0 + 3 + (1 + 4) + 2");
  EXPECT_EQ(fold(4, "tree(0 + (1 + (2 + 3)))", 4), "0 + (1 + (2 + 3))");
  // Empty lanes take no part, the others keep their places.
  EXPECT_EQ(fold(8, "halves", 5), "0 + 4 + 2 + (1 + 3)");
  EXPECT_EQ(fold(8, "pairs", 3), "[0..2]");
  EXPECT_EQ(fold(4, "tree(0 + (1 + (2 + 3)))", 3), "0 + (1 + 2)");
}

TEST(F64, Places) {
  EXPECT_EQ(tree("f64 > fma", 3), "f64([0..2])");
  EXPECT_EQ(tree("split(2) > f64 > chunks(1) > fma", 4), "f64(0 + (1)) + f64(2 + (3))");
  EXPECT_EQ(tree("f64 > tree(0 + f32(1 + 2)) > fma", 3), "f64(0 + f32(1 + 2))");
  EXPECT_EQ(tree("f64 > mul(round=f32)", 3), "f64([0..2]:mul_f32)");
}

TEST(TreeStage, Positions) {
  EXPECT_EQ(tree("tree(0 + 2 + (1 + 3) + 4) > mul", 5), "0 + 2 + (1 + 3) + 4");
  EXPECT_EQ(tree("reverse > tree(0 + 2 + (1)) > fma", 3), "2 + 0 + (1)");
  EXPECT_EQ(tree("chunks(3) > tree(2 + 0 + 1) > fma", 6), "2 + 0 + 1 + (5 + 3 + 4)");
  EXPECT_EQ(tree("tree([6..0:-2] + ([1..5:2])) > fma", 7), "[6..0:-2] + ([1..5:2])");
  EXPECT_THROW(Order::parse("tree(0 + 1) > fma").tree(3), Error);
}

// The root's items are what epilogue(alpha=block, c=first) refers to.
std::size_t pieces(const std::string& order, std::size_t k) {
  const Tree tree = Order::parse("epilogue(c=first) > " + order).tree(k);
  for (const Item& item : tree.nodes[tree.root].items) EXPECT_TRUE(item.is_node());
  EXPECT_FALSE(tree.nodes[tree.root].wide);
  return tree.nodes[tree.root].items.size();
}

TEST(Epilogue, Pieces) {
  EXPECT_EQ(pieces("fma", 8), 1u);
  EXPECT_EQ(pieces("chunks(2) > fma", 8), 4u);
  EXPECT_EQ(pieces("chunks(8) > fma", 8), 1u);
  EXPECT_EQ(pieces("chunks(2) > lanes(2, fold=left, tail=lanes) > fma", 8), 4u);
  EXPECT_EQ(pieces("chunks(2, fold=pairs) > fma", 8), 1u);
  EXPECT_EQ(pieces("chunks(2, join=alternate) > fma", 8), 1u);
  EXPECT_EQ(pieces("split(2) > fma", 8), 2u);
  EXPECT_EQ(pieces("reverse > split(2) > fma", 8), 2u);
  EXPECT_EQ(pieces("lanes(4, fold=left, tail=sum) > fma", 9), 1u);
  EXPECT_EQ(pieces("pairwise(2) > fma", 8), 1u);
  EXPECT_EQ(pieces("f64 > split(2) > fma", 8), 1u);
  EXPECT_EQ(pieces("tree(0 + (1)) > fma", 2), 1u);
}

TEST(Order, Parts) {
  const Order order = Order::parse("fp16 > epilogue(c=seed) > out(bf16) > mma(hopper)");
  EXPECT_EQ(order.text(), "out(bf16) > epilogue(c=seed) > fp16(rne) > mma(hopper)");
  EXPECT_EQ(order.input(), (InputRounding{Format::fp16, Rounding::rne}));
  EXPECT_EQ(order.epilogue().c, Epilogue::C::seed);
  EXPECT_EQ(order.out(), Format::bf16);
  EXPECT_EQ(Order().text(), "fma");
  EXPECT_EQ(Order::parse("epilogue(alpha=end, c=last) > fma"), Order());
  EXPECT_EQ(Order::parse("lanes(4) > fma").text(), "lanes(4, fold=left, tail=lanes) > fma");
  EXPECT_EQ(Order::parse("lanes( 4,tail=chain , step=4,fold=pairs )>mul( )").text(),
            "lanes(4, fold=pairs, tail=chain) > mul");
  EXPECT_EQ(Order::parse("chunks(320, balance=8) > fma").describe(),
            "chunks of 320 (the last two balanced in units of 8), added left to right; a chain of fused multiply-adds");
}

TEST(Order, Profiles) {
  const Order order = Order::parse("onnxruntime-cpu( b=const,threads=2 )");
  EXPECT_TRUE(order.is_profile());
  EXPECT_EQ(order.text(), "onnxruntime-cpu(b=const, threads=2)");
  EXPECT_EQ(order.profile_name(), "onnxruntime-cpu");
  EXPECT_EQ(order.profile_keys(), (std::vector<std::pair<std::string, std::string>>{{"b", "const"}, {"threads", "2"}}));
  EXPECT_EQ(Order::parse("numpy()").text(), "numpy");
  EXPECT_EQ(Order::parse("openblas(version=0.3.27)").profile_keys()[0].second, "0.3.27");
  EXPECT_THROW(order.tree(3), Error);
  EXPECT_FALSE(Order().is_profile());
}

TEST(Order, Regions) {
  const Order order =
      Order::parse("regions(rows=0:8 cols=0:12:5: tree(0 + (1 + 2)) > mul; cols=3:4: chunks(2) > fma; rest: fma)");
  EXPECT_TRUE(order.has_regions());
  EXPECT_EQ(order.regions().size(), 2u);
  EXPECT_EQ(order.regions()[0].cols, (Range{0, 12, 5}));
  EXPECT_EQ(order.regions()[1].rows, Range::all());
  EXPECT_EQ(order.at(0, 5).text(), "tree(0 + (1 + 2)) > mul");
  EXPECT_EQ(order.at(0, 3).text(), "chunks(2) > fma");
  EXPECT_EQ(order.at(8, 5).text(), "fma");
  EXPECT_EQ(order.rest().text(), "fma");
  order.check_shape(8, 12);
  EXPECT_THROW(order.check_shape(7, 12), Error);
  EXPECT_THROW(order.check_shape(8, 11), Error);
  EXPECT_THROW(order.tree(3), Error);
  EXPECT_THROW(order.input(), Error);
  EXPECT_EQ(Order::with_regions(order.regions(), order.rest()), order);
  EXPECT_EQ(Order::with_regions({}, order.rest()), order.rest());
  EXPECT_THROW(Order::with_regions({{{0, 0}, {0, 1}, Order()}}, Order()), Error);
  EXPECT_THROW(Order::with_regions({{{0, 1}, {0, 1}, order}}, Order()), Error);
  const Order first = Order::with_regions({{{0, 2}, Range::all(), Order::parse("mul")}, {{0, 4}, Range::all(), Order()}},
                                          Order::parse("exact"));
  EXPECT_EQ(first.text(), "regions(rows=0:2: mul; rows=0:4: fma; rest: exact)");
  EXPECT_EQ(first.at(1, 0).text(), "mul");
  EXPECT_EQ(first.at(3, 0).text(), "fma");
}

TEST(Order, Equivalence) {
  auto same = [](std::string_view x, std::string_view y, std::size_t k) {
    return equivalent(Order::parse(x), Order::parse(y), k);
  };
  EXPECT_TRUE(same("fma", "chunks(256) > fma", 256));
  EXPECT_FALSE(same("fma", "chunks(256) > fma", 257));
  EXPECT_FALSE(same("fma", "mul", 2));
  EXPECT_FALSE(same("fma", "bf16(rne) > fma", 2));
  EXPECT_FALSE(same("fma", "out(bf16) > fma", 2));
  EXPECT_TRUE(same("chunks(320, balance=8) > fma", "chunks(256,244) > fma", 500));
  EXPECT_TRUE(same("pairwise(1) > mul", "lanes(8, fold=pairs, tail=lanes) > mul", 8));
  EXPECT_TRUE(same("tree(2 + (0 + 1)) > mul", "mul", 3));
  EXPECT_TRUE(same("tf32(rna) > mma(ampere)", "tf32(rna) > mma(4,24)", 9));
  EXPECT_FALSE(same("tf32(rna) > mma(ampere)", "tf32(rna) > mma(hopper)", 9));
  // Pieces, and the chain that C starts, are part of the order where the epilogue refers to them.
  EXPECT_TRUE(same("chunks(2) > mul", "tree(0 + 1 + (2 + 3)) > mul", 4));
  EXPECT_FALSE(same("epilogue(c=first) > chunks(2) > mul", "epilogue(c=first) > tree(0 + 1 + (2 + 3)) > mul", 4));
  EXPECT_TRUE(same("epilogue(c=first) > chunks(2) > mul", "epilogue(c=first) > chunks(2,2) > mul", 4));
  EXPECT_FALSE(same("epilogue(c=seed) > mul", "epilogue(c=seed) > reverse > mul", 2));
  EXPECT_FALSE(same("epilogue(c=seed) > chunks(1) > mul", "epilogue(c=seed) > mul", 2));
  EXPECT_TRUE(same("mul", "chunks(1) > mul", 2));
  EXPECT_TRUE(same("regions(rows=0:2: fma; rest: mul)", "regions(rows=0:2: chunks(9) > fma; rest: mul)", 9));
  EXPECT_FALSE(same("regions(rows=0:2: fma; rest: mul)", "regions(rows=0:3: fma; rest: mul)", 9));
}

struct Bad {
  std::string_view text;
  std::size_t column;
  std::string_view message;  // a part of it
};

TEST(Order, ErrorsSayWhereAndWhatWasExpected) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", 1, "expected a stage, a profile or 'regions', found the end"},
           {"chunks(256)", 12, "expected '>', found the end"},
           {"chunks(256, bal=4) > fma", 13,
            "expected 'balance=', 'max=', 'rest=', 'short=', 'join=' or 'fold=', found 'bal'"},
           {"chunks(256, balance=) > fma", 21, "expected a number or 'half', found ')'"},
           {"chunks(0) > fma", 8, "expected a number from 1"},
           {"chunks(99999999999999999999) > fma", 8, "found a larger one"},
           {"chunks(4, balance=2, max=5) > fma", 22, "only one of"},
           {"chunks(4,4, balance=2) > fma", 13, "a list of pieces"},
           {"chunks(4, join=alternate, fold=pairs) > fma", 27, "no other fold"},
           {"chunks(4, max=3) > fma", 15, "expected a number from 4"},
           {"chunk(4) > fma", 1, "unknown stage 'chunk'"},
           {"chunks(4) > fma > mul", 17, "expected the end, found '>'"},
           {"chunks(4) > fna", 13, "expected a stage (out, epilogue"},
           {"lanes(0) > fma", 7, "from 1 to 65536"},
           {"lanes(65537) > fma", 7, "from 1 to 65536"},
           {"lanes(4, step=6) > fma", 15, "a multiple of 4"},
           {"lanes(4, head=2@4) > fma", 17, "from 0 to 3"},
           {"lanes(4, fold=tree(0 + 1)) > fma", 19, "the fold has 2 parts, expected 4"},
           {"lanes(4, fold=tree(0:mul + 1 + 2 + 3)) > fma", 21, "'+' or ')'"},
           {"lanes(4, tail=chain, tail=sum) > fma", 22, "'tail' is given twice"},
           {"lanes(4, tail=chain, tailop=f64mul) > fma", 22, "tail=sum"},
           {"tree(0 + 2) > fma", 5, "leaf 2 in a tree of 2 leaves"},
           {"tree(0 + 0) > fma", 5, "leaf 0 occurs twice"},
           {"tree([0..4000000000]) > fma", 10, "found a larger one"},
           {"tree([0..7:2]) > fma", 10, "does not end at 7"},
           {"tree([3..1]) > fma", 10, "the range is empty"},
           {"tree(0 + ) > fma", 10, "a leaf, '[' or '('"},
           {"tree(0 + (1) > fma", 14, "'+' or ')'"},
           {"tree(0 + 1) > mma(4,24)", 18, "fma or mul after tree(...)"},
           {"tree(0 + 1) > fma(seed=1)", 19, "seed= has no meaning after tree"},
           {"tree(0 + 1) > chunks(2) > fma", 15, "fma or mul after tree(...)"},
           {"mma(hopper)", 5, "a name needs tf32, bf16 or fp16"},
           {"tf32(rna) > mma(volta)", 17, "'ampere' or 'hopper'"},
           {"mma(4)", 6, "','"},
           {"mma(0,24)", 5, "from 1 to 64"},
           {"f64 > mma(4,24)", 10, "a tensor core adds to float"},
           {"f64 > exact", 12, "rounded once already"},
           {"f64 > f64 > fma", 10, "given twice"},
           {"mul(round=f32)", 5, "needs f64"},
           {"split(2, partial=out) > fma", 10, "needs out(fp16)"},
           {"fma > out(fp16)", 5, "expected the end"},
           {"chunks(2) > out(fp16) > fma", 13, "before all other stages"},
           {"bf16 > fp16 > fma", 8, "only one of this kind"},
           {"tf32 > fma", 6, "expected '(', found '>'"},
           {"tf32(raw) > fma", 6, "'rne', 'rna' or 'rz'"},
           {"bf16(rna) > fma", 6, "expected 'rne'"},
           {"regions(rows=0:2 fma)", 18, "':' or 'cols='"},
           {"regions(rows=2:2: fma; rest: mul)", 16, "the range is empty"},
           {"regions(rows=0:2: fma)", 22, "';'"},
           {"regions(rows=0:2: regions(rest: fma); rest: fma)", 19, "expected a stage"},
           {"regions(fma)", 9, "'rows=', 'cols=' or 'rest:'"},
           {"regions(rows=0:2: numpy; rest: fma)", 19, "expected a stage"},
           {"numpy(threads)", 1, "unknown stage 'numpy'"},
           {"numpy(threads=2, threads=3)", 18, "given twice"},
           {"\x01", 1, "found byte 0x01"},
       }) {
    try {
      Order::parse(bad.text);
      ADD_FAILURE() << bad.text << " is no order";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::syntax);
      EXPECT_EQ(e.column(), bad.column) << bad.text << "\n" << e.what();
      EXPECT_NE(std::string_view(e.what()).find(bad.message), std::string_view::npos) << bad.text << "\n" << e.what();
      EXPECT_EQ(std::string_view(e.what()).substr(0, 7), "column ");
    }
  }
}

TEST(Order, HelpNamesEveryStageOnce) {
  const auto help = stage_help();
  EXPECT_EQ(help.size(), 16u);
  for (const StageHelp& stage : help) {
    EXPECT_EQ(stage.usage.rfind(stage.name, 0), 0u) << stage.name;
    EXPECT_FALSE(stage.help.empty());
  }
}

}  // namespace
