// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "samebits/order.h"

using namespace samebits;

namespace {

std::string tree(std::string_view order, std::size_t k) {
  return Order::parse(order).tree(k).text();
}

TEST(OrderText, CanonicalTextIsItsOwnText) {
  for (const char* text : {
           "fma",
           "mul",
           "chunks(256) > fma",
           "chunks(320, balance=8) > fma",
           "chunks(256,256,244,244) > fma",
           "split(4) > chunks(32) > fma",
           "lanes(16, fold=halves, tail=lanes) > fma",
           "pairwise(8) > mul",
           "reverse > fma",
           "tf32(rna) > mma(4,24)",
           "tf32(rz) > mma(8,25)",
           "tf32(rz, raw) > mma(hopper, first=32)",
           "bf16(rne) > mma(ampere)",
           "bf16(rne) > fma",
           "tree(0 + 2 + (1 + 3) + 4) > mul",
           "tree([0..32:2] + [1..31:2]) > fma",
           "f64 > mul(round=f32)",
           "exact",
           "regions(rows=0:8 cols=0:12: tree(0 + (1 + 2)) > mul; rest: fma)",
           "regions(cols=0:12:4: mul; rows=3:5: exact; rest: split(2) > fma)",
           "chunks(256, balance=half) > fma",
           "chunks(384, max=480) > fma",
           "chunks(112, short=second) > mul",
           "chunks(4, join=alternate) > mul",
           "chunks(8) > fma(seed=1)",
           "split(2, floor) > fma(start=first)",
           "out(bf16) > split(4, partial=out) > fma",
           "out(fp16) > epilogue(alpha=block, c=first, fused) > fp16(rne) > chunks(4, fold=pairs) > fma",
           "lanes(8, width=4, step=128, head=3@2, fold=tree(0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))), tail=sum, tailop=f64mul) "
           "> fma",
           "split(4) > f64 > fma",
           "f64 > split(4) > fma",
           "f64 > tree(0 + f32(1 + 2)) > fma",
           "tree(f64(0 + 1) + 2:mul) > fma",
           "onnxruntime-cpu(b=const, threads=2)",
           "mkl(dispatch=amd, offset=4)",
       })
    EXPECT_EQ(Order::parse(text).text(), text);
}

TEST(OrderTree, Stages) {
  EXPECT_EQ(tree("fma", 5), "[0..4]");
  EXPECT_EQ(tree("fma", 0), "+0");
  EXPECT_EQ(tree("reverse > fma", 5), "[4..0:-1]");
  EXPECT_EQ(tree("reverse > mul", 3), "0 + (1 + 2)");
  EXPECT_EQ(tree("chunks(2) > fma", 5), "0 + 1 + (2 + 3) + (4)");
  EXPECT_EQ(tree("lanes(4, fold=halves, tail=chain) > mul", 5), "0 + 2 + (1 + 3) + 4");
  EXPECT_EQ(tree("f64 > fma", 3), "f64([0..2])");
  EXPECT_EQ(tree("fma(start=first)", 3), "-0 + [0..2]");
  EXPECT_EQ(tree("mma(4,24, first=3)", 8), "{0 + 1}:mma(4,24) + [2..7]:mma(4,24)");
  EXPECT_EQ(tree("exact", 4), "[0..3]:exact");
  EXPECT_EQ(tree("lanes(2, fold=left, tail=sum, tailop=f64mul) > fma", 5), "f64(f32(0 + 2 + (1 + 3)) + (4:mul_f32))");
}

}  // namespace
