// SPDX-License-Identifier: Apache-2.0
// Trees that were read off the libraries by probing, as printed by the probe, against what the profiles say.
#include <gtest/gtest.h>

#include "profiles/profile.h"

namespace samebits {
namespace {

struct Golden {
  const char* profile;
  DType dtype;
  Index m, n, k;
  const char* layout;  // "NN": a @ b, "NT": a @ b.T
  Index i, j;
  const char* op;
  const char* tree;  // of element (i, j)
  int threads = 1;
  bool constant = true;
};

constexpr DType f32 = DType::f32, f64 = DType::f64;

void PrintTo(const Golden& g, std::ostream* out) {
  *out << g.profile << " " << (g.dtype == f32 ? "f32 " : "f64 ") << g.layout << " " << g.m << "x" << g.n << "x" << g.k
       << " (" << g.i << "," << g.j << ") threads " << g.threads;
}

profiles::Call call_of(const Golden& g) {
  profiles::Call call;
  call.dtype = g.dtype;
  call.m = g.m;
  call.n = g.n;
  call.k = g.k;
  call.trans_a = g.layout[0] == 'T';
  call.trans_b = g.layout[1] == 'T';
  call.threads = g.threads;
  call.constant_b = g.constant;
  return call;
}

class Trees : public testing::TestWithParam<Golden> {};

TEST_P(Trees, AreThoseOfTheProfile) {
  const Golden& g = GetParam();
  const auto order = profiles::resolve(Order::parse(g.profile), call_of(g));
  ASSERT_TRUE(order.has_value());
  const Order expected = Order::parse(std::string("tree(") + g.tree + ") > " + g.op), found = order->at(g.i, g.j);
  EXPECT_EQ(found.tree(g.k).hash(), expected.tree(g.k).hash()) << found.text() << "\n" << found.tree(g.k).text();
}

constexpr const char* even_odd_37 = "[0..32:2] + [33..36] + ([1..31:2])";
constexpr const char* blocks_192 = "[0..191] + ([192..383]) + ([384..499])";
constexpr const char* skx_fours =
    "[0..32:16] + ([1..33:16]) + ([2..34:16] + ([3..35:16])) + ([4..36:16] + (5 + 21) + (6 + 22 + (7 + 23))) + (8 + 24 + (9 "
    "+ 25) + (10 + 26 + "
    "(11 + 27)) + (12 + 28 + (13 + 29) + (14 + 30 + (15 + 31))))";
constexpr const char* halves_16 =
    "[0..32:16] + (8 + 24) + ([4..36:16] + (12 + 28)) + ([2..34:16] + (10 + 26) + (6 + 22 + (14 + 30))) + ([1..33:16] + (9 "
    "+ 25) + (5 + 21 + "
    "(13 + 29)) + ([3..35:16] + (11 + 27) + (7 + 23 + (15 + 31))))";

INSTANTIATE_TEST_SUITE_P(
    OnnxRuntime, Trees,
    testing::Values(
        Golden{"onnxruntime-cpu()", f32, 6, 300, 600, "NN", 0, 0, "fma", "[0..255] + ([256..511]) + ([512..599])"},
        Golden{"onnxruntime-cpu()", f32, 6, 300, 600, "NN", 5, 299, "fma",
               "[0..127] + ([128..255]) + ([256..383]) + ([384..511]) + ([512..599])", 1, false},
        Golden{"onnxruntime-cpu(b=input)", f32, 6, 40, 600, "NN", 0, 0, "fma", "[0..255] + ([256..511]) + ([512..599])"},
        Golden{"onnxruntime-cpu()", f32, 6, 7, 5, "NN", 5, 6, "fma", "[0..4]"},
        Golden{"onnxruntime-cpu(b=input)", f32, 1, 7, 22, "NN", 0, 3, "mul",
               "[0..3] + ([4..7]) + ([8..11]) + ([12..15]) + ([16..19]) + (20 + 21)"},
        Golden{"onnxruntime-cpu(b=input)", f32, 1, 3, 23, "NN", 0, 0, "mul",
               "[0..3] + ([4..7]) + ([8..11]) + ([12..15]) + ([16..19]) + (20 + 21) + 22"},
        Golden{
            "onnxruntime-cpu(op=gemm, b=input)", f32, 1, 7, 37, "NT", 0, 3, "mul",
            "[0..32:8] + ([1..33:8]) + ([2..34:8]) + ([3..35:8]) + ([4..36:8] + ([5..29:8]) + ([6..30:8]) + ([7..31:8]))"},
        Golden{
            "onnxruntime-cpu(op=gemm, b=input)", f32, 1, 7, 37, "NT", 0, 5, "mul",
            "[0..32:8] + ([2..34:8]) + ([4..36:8] + ([6..30:8])) + ([1..33:8] + ([3..35:8]) + ([5..29:8] + ([7..31:8])))"},
        Golden{
            "onnxruntime-cpu(op=gemm, b=input)", f32, 1, 7, 37, "NT", 0, 6, "mul",
            "[0..32:8] + ([1..33:8]) + ([2..34:8] + ([3..35:8])) + ([4..36:8] + ([5..29:8]) + ([6..30:8] + ([7..31:8])))"},
        Golden{"onnxruntime-cpu()", f64, 1, 40, 600, "NN", 0, 0, "fma",
               "[0..127] + ([128..255]) + ([256..383]) + ([384..511]) + ([512..599])"},
        Golden{"onnxruntime-cpu()", f32, 2, 40, 2000, "NN", 0, 31, "fma",
               "[0..511] + ([512..1023]) + ([1024..1535]) + ([1536..1999])", 2, false},
        Golden{"onnxruntime-cpu()", f32, 2, 40, 2000, "NN", 0, 32, "fma", "[0..1023] + ([1024..1999])", 2, false},
        Golden{"onnxruntime-cpu()", f64, 2, 40, 2000, "NN", 1, 24, "fma",
               "[0..511] + ([512..1023]) + ([1024..1535]) + ([1536..1999])", 2}));

INSTANTIATE_TEST_SUITE_P(
    OpenBlas, Trees,
    testing::Values(
        Golden{"openblas(core=haswell)", f32, 64, 64, 500, "NN", 0, 0, "fma",
               "[0..254:2] + ([1..255:2]) + ([256..496:2] + [497..499] + ([257..495:2]))"},
        Golden{"openblas(core=haswell)", f32, 48, 40, 1000, "NN", 0, 8, "fma",
               "[0..319] + ([320..639]) + ([640..823]) + ([824..999])"},
        Golden{"openblas(core=skylakex)", f32, 48, 40, 1000, "NT", 0, 0, "fma", "[0..447] + ([448..735]) + ([736..999])"},
        Golden{"openblas(core=cooperlake)", f32, 48, 40, 1000, "NN", 47, 39, "fma",
               "[0..319] + ([320..639]) + ([640..831]) + ([832..999])"},
        Golden{"openblas(core=sapphirerapids)", f32, 48, 40, 1000, "NN", 0, 0, "fma",
               "[0..319] + ([320..639]) + ([640..831]) + ([832..999])"},
        Golden{"openblas(core=zen)", f64, 48, 40, 1000, "NN", 0, 0, "fma",
               "[0..255] + ([256..511]) + ([512..755]) + ([756..999])"},
        Golden{"openblas(core=skylakex)", f64, 48, 40, 1000, "NN", 0, 0, "fma", "[0..383] + ([384..703]) + ([704..999])"},
        Golden{"openblas(core=haswell)", f32, 64, 64, 500, "NN", 0, 8, "fma", "[0..249] + ([250..499])", 2},
        Golden{"openblas(core=haswell)", f64, 64, 64, 401, "NN", 0, 0, "fma", "[0..199] + ([200..400])"},
        Golden{"openblas(core=haswell)", f64, 64, 64, 401, "NN", 0, 0, "fma", "[0..200] + ([201..400])", 2},
        Golden{"openblas(core=haswell)", f32, 8, 400, 37, "NN", 3, 199, "fma", even_odd_37},
        Golden{"openblas(core=haswell)", f32, 8, 400, 37, "NN", 3, 200, "fma", "[0..36]"},
        Golden{"openblas(core=haswell)", f32, 12, 16, 37, "NN", 5, 15, "fma", even_odd_37},
        Golden{"openblas(core=haswell)", f32, 12, 16, 37, "NN", 6, 0, "fma", "[0..36]"},
        Golden{"openblas(core=haswell)", f32, 12, 24, 37, "NN", 0, 0, "fma", even_odd_37},
        Golden{"openblas(core=haswell)", f32, 12, 24, 37, "NN", 0, 8, "fma", "[0..36]"},
        Golden{"openblas(core=haswell)", f32, 12, 24, 37, "NN", 6, 16, "fma", even_odd_37},
        Golden{"openblas(core=skylakex)", f32, 7, 9, 37, "NT", 0, 0, "fma", skx_fours},
        Golden{"openblas(core=skylakex)", f32, 7, 9, 37, "NT", 6, 8, "fma", halves_16},
        Golden{"openblas(core=skylakex)", f32, 6, 35, 37, "NN", 0, 0, "fma", "[0..36]"},
        Golden{"openblas(core=skylakex)", f64, 24, 204, 100, "NT", 0, 200, "fma", "[0..98:2] + ([1..99:2])"},
        Golden{"openblas(core=haswell)", f64, 3, 7, 13, "NN", 2, 3, "fma",
               "[0..8:4] + [9..12] + (1 + 5) + (2 + 6 + (3 + 7))"},
        Golden{"openblas(core=haswell, call=gemv)", f32, 1, 7, 37, "NT", 0, 0, "fma",
               "0 + [4..28:8] + ([8..32:8]) + (1 + [5..29:8] + ([9..33:8])) + (2 + [6..30:8] + ([10..34:8]) + (3 + "
               "[7..31:8] + ([11..35:8]))) + 36:mul"},
        Golden{"openblas(core=haswell, call=gemv)", f32, 1, 7, 37, "NT", 0, 5, "mul",
               "[0..32:4] + ([1..33:4]) + ([2..34:4] + ([3..35:4])) + 36"},
        Golden{"openblas(core=haswell, call=gemv)", f32, 1, 23, 22, "NN", 0, 0, "fma",
               "[0..6:2] + ([1..7:2]) + ([8..14:2] + ([9..15:2])) + (16 + 18 + (17 + 19)) + 20:mul + 21:mul"},
        Golden{"openblas(core=haswell, call=gemv)", f32, 1, 23, 22, "NN", 0, 19, "fma",
               "[0..7] + ([8..15]) + ([16..19]) + 20:mul + 21:mul"},
        Golden{"openblas(core=haswell, call=gemv)", f32, 1, 23, 22, "NN", 0, 20, "mul", "[0..21]"},
        Golden{"openblas(core=skylakex, call=gemv)", f32, 1, 7, 37, "NN", 0, 0, "fma", "[0..36]"},
        Golden{"openblas(core=skylakex, call=gemv)", f32, 1, 5, 5, "NT", 0, 0, "fma", "[0..4]"},
        Golden{"openblas(core=skylakex, call=gemv)", f32, 1, 5, 5, "NT", 0, 4, "mul", "[0..4]"},
        Golden{"openblas(core=skylakex, call=gemv)", f32, 1, 6, 8, "NT", 0, 0, "mul", "0 + 1 + (2 + 3) + (4 + 5 + (6 + 7))"},
        Golden{"openblas(core=skylakex, call=gemv)", f64, 1, 7, 13, "NN", 0, 0, "fma",
               "1 + 0 + 2 + 3 + (5 + 4 + 6 + 7) + (9 + 8 + 10 + 11) + 12:mul"},
        Golden{"openblas(core=haswell, call=gemv)", f64, 1, 4, 100, "NT", 0, 0, "fma",
               "[0..96:4] + ([2..98:4]) + ([1..97:4] + ([3..99:4]))"},
        Golden{"openblas(core=haswell, call=dot)", f64, 1, 1, 31, "NN", 0, 0, "fma",
               "0 + (2) + (4 + (6)) + (8 + (10) + (12 + (14))) + (1 + (3) + (5 + (7)) + (9 + (11) + (13 + (15)))) + "
               "[16..30]:mul"},
        Golden{"numpy()", f32, 6, 7, 5, "NT", 5, 6, "fma", "[0..4]"},
        Golden{"numpy()", f64, 6, 7, 5, "NT", 0, 0, "fma", "[0..4]"}));

// Float products summed in double.
TEST(Golden, AShortSdotIsSummedInDouble) {
  for (const char* profile : {"openblas(core=haswell, call=dot)", "openblas(core=skylakex, call=dot)", "numpy()"}) {
    const Golden g{profile, f32, 1, 1, 31, "NN", 0, 0, "", ""};
    EXPECT_EQ(profiles::resolve(Order::parse(profile), call_of(g))->text(), "f64 > mul(round=f32)");
  }
}

INSTANTIATE_TEST_SUITE_P(
    MklAndPyTorch, Trees,
    testing::Values(
        Golden{"mkl(dispatch=amd)", f32, 6, 7, 5, "NN", 0, 0, "mul", "[0..4]"},
        Golden{"mkl(dispatch=amd)", f32, 3, 7, 5, "NT", 0, 0, "mul", "0 + 2 + (1 + 3) + 4"},
        Golden{"mkl(dispatch=amd)", f32, 64, 64, 1000, "NN", 0, 0, "fma",
               "[0..191] + ([192..383]) + ([384..575]) + ([576..767]) + ([768..959]) + ([960..999])"},
        Golden{"mkl(dispatch=amd)", f64, 64, 64, 1000, "NN", 0, 0, "fma", "[0..999]"},
        Golden{"mkl(dispatch=amd)", f32, 16, 16, 333, "NT", 0, 0, "fma", "[0..165] + ([166..331]) + (332)"},
        Golden{"mkl(dispatch=amd)", f32, 16, 16, 257, "NN", 0, 0, "fma", "[0..127] + ([128..255]) + (256)"},
        Golden{"mkl(dispatch=amd)", f32, 1, 40, 100, "NT", 0, 0, "mul",
               "[0..4] + [8..96:4] + ([6..98:4]) + ([5..97:4] + ([7..99:4]))"},
        Golden{"mkl(dispatch=avx2)", f32, 6, 7, 5, "NN", 0, 0, "fma", "0 + 2 + (1 + 3) + 4"},
        Golden{"mkl(dispatch=avx2)", f32, 6, 7, 37, "NT", 0, 0, "fma", "[0..34:2] + ([1..35:2]) + 36"},
        Golden{"mkl(dispatch=avx2)", f32, 64, 64, 1000, "NN", 0, 0, "fma",
               "[0..255] + ([256..511]) + ([512..755]) + ([756..999])"},
        Golden{"mkl(dispatch=avx512)", f32, 6, 7, 5, "NN", 0, 0, "fma", "[0..4]"},
        Golden{"mkl(dispatch=avx512)", f32, 3, 7, 5, "NT", 0, 0, "mul", "0 + 4 + 2 + (1 + 3)"},
        Golden{"mkl(dispatch=avx512)", f32, 64, 64, 1000, "NT", 0, 0, "fma", "[0..383] + ([384..691]) + ([692..999])"},
        Golden{"mkl(dispatch=avx512)", f64, 64, 64, 1000, "NN", 0, 0, "fma", "[0..383] + ([384..691]) + ([692..999])"},
        Golden{"pytorch-cpu()", f32, 6, 7, 5, "NT", 0, 0, "mul", "0 + 2 + (1 + 3) + 4"},
        Golden{"pytorch-cpu()", f64, 6, 7, 5, "NT", 0, 0, "mul", "0 + 2 + (1 + 3) + 4"},
        Golden{"pytorch-cpu()", f32, 6, 7, 5, "NT", 5, 6, "mul", "[0..4]"},
        Golden{"pytorch-cpu()", f32, 6, 7, 5, "NN", 0, 0, "mul", "[0..4]"},
        Golden{"pytorch-cpu()", f64, 6, 7, 5, "NN", 0, 0, "mul", "[0..4]"},
        Golden{"pytorch-cpu()", f32, 1, 7, 5, "NT", 0, 0, "mul", "0 + 1 + 3 + (2 + 4)"},
        Golden{"pytorch-cpu()", f64, 1, 7, 5, "NT", 0, 0, "mul", "0 + 1 + 3 + (2 + 4)"},
        Golden{"pytorch-cpu()", f32, 6, 7, 37, "NT", 0, 0, "mul",
               "[0..32:4] + ([2..34:4]) + ([1..33:4] + ([3..35:4])) + 36"},
        Golden{"pytorch-cpu()", f32, 6, 7, 37, "NT", 5, 6, "mul",
               "[0..3] + [11..27:8] + ([7..31:8]) + ([5..29:8] + ([9..33:8])) + ([4..28:8] + ([8..32:8]) + ([6..30:8] + "
               "([10..34:8]))) + 35 + 36"},
        Golden{"pytorch-cpu()", f32, 64, 64, 500, "NT", 63, 63, "fma", blocks_192},
        Golden{"pytorch-cpu()", f32, 64, 64, 500, "NN", 0, 0, "fma", blocks_192},
        Golden{"pytorch-cpu()", f64, 64, 64, 500, "NT", 0, 0, "fma", "[0..499]"},
        Golden{"pytorch-cpu()", f64, 64, 64, 500, "NT", 63, 63, "mul",
               "[0..248:2] + ([1..249:2]) + ([250..498:2] + ([251..499:2]))"}));

INSTANTIATE_TEST_SUITE_P(
    Others, Trees,
    testing::Values(
        Golden{"onednn(isa=avx512)", f32, 64, 64, 1000, "NN", 0, 0, "fma", "[0..383] + ([384..691]) + ([692..999])"},
        Golden{"onednn(isa=avx2)", f32, 64, 64, 1000, "NT", 0, 0, "fma",
               "[0..255] + ([256..511]) + ([512..755]) + ([756..999])"},
        Golden{"onednn(isa=avx2)", f32, 6, 7, 5, "NT", 0, 0, "fma", "0 + 2 + (1 + 3) + 4"},
        Golden{"onednn(isa=avx512)", f32, 6, 7, 37, "NT", 5, 6, "fma", halves_16},
        Golden{"blis(arch=skx)", f32, 48, 40, 1200, "NN", 0, 0, "fma", "[0..383] + ([384..767]) + ([768..1199])"},
        Golden{"blis(arch=haswell)", f32, 64, 64, 1000, "NN", 0, 0, "fma",
               "[0..255] + ([256..511]) + ([512..767]) + ([768..999])"},
        Golden{"blis(arch=haswell)", f32, 9, 20, 37, "NT", 0, 0, "fma",
               "[0..32:8] + [33..36] + ([1..25:8]) + ([2..26:8] + ([3..27:8])) + ([4..28:8] + ([5..29:8]) + ([6..30:8] + "
               "([7..31:8])))"},
        Golden{"eigen(isa=avx2)", f32, 64, 64, 1000, "NN", 0, 0, "fma",
               "[0..255] + ([256..511]) + ([512..767]) + ([768..999])"},
        Golden{"eigen(isa=avx2)", f32, 400, 400, 2000, "NN", 0, 0, "fma",
               "[0..287] + ([288..575]) + ([576..863]) + ([864..1151]) + ([1152..1439]) + ([1440..1727]) + ([1728..1999])"},
        Golden{"eigen(isa=avx2)", f64, 64, 64, 1000, "NN", 0, 0, "fma",
               "[0..207] + ([208..415]) + ([416..623]) + ([624..831]) + ([832..999])"},
        Golden{"eigen(isa=avx512)", f32, 64, 64, 1000, "NN", 0, 0, "fma", "[0..503] + ([504..999])"},
        Golden{"eigen(isa=avx512)", f64, 64, 64, 1000, "NN", 0, 0, "fma", "[0..503] + ([504..999])"},
        Golden{"eigen(isa=avx2)", f32, 9, 20, 37, "NN", 0, 16, "fma", "[0..30:2] + ([1..31:2]) + [32..36]"},
        Golden{"cublas(kernel=sn2)", f32, 6, 7, 5, "NN", 0, 0, "fma", "[0..2] + (3 + 4)"},
        Golden{"cublas(kernel=sn4)", f32, 6, 7, 5, "NN", 0, 0, "fma", "0 + 1 + (2 + 3) + (4)"},
        Golden{"onnxruntime-cuda(use_tf32=0, few-rows=sn2)", f32, 6, 7, 5, "NN", 0, 0, "fma", "[0..2] + (3 + 4)"},
        Golden{"pytorch-cuda()", f32, 6, 7, 5, "NT", 0, 0, "fma", "[0..4]"},
        Golden{"tensorflow-cpu()", f32, 64, 64, 500, "NN", 0, 0, "fma", "[0..249] + ([250..499])"},
        Golden{"tensorflow-cpu()", f64, 64, 64, 1000, "NN", 0, 0, "mul", "[0..503] + ([504..999])"}));

// A 2 x 2 x 40000 product is one chain in blocks on one thread; on two, each thread has one row and takes the vector kernel.
TEST(Golden, ThreadsOfOnnxRuntimeChangeTheKernel) {
  Golden g{"onnxruntime-cpu(b=input)", f32, 2, 2, 40000, "NN", 0, 0, "", ""};
  const Order profile = Order::parse(g.profile);
  EXPECT_EQ(profiles::resolve(profile, call_of(g))->text(), "chunks(1024) > fma");
  g.threads = 2;
  EXPECT_EQ(profiles::resolve(profile, call_of(g))->text(), "chunks(4) > mul");
}

}  // namespace
}  // namespace samebits
