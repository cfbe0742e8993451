// SPDX-License-Identifier: Apache-2.0
// The libraries that the system's packages bring, probed live and compared with what the profiles predict.
#include <gtest/gtest.h>

#include <fstream>

#include "backends/live.h"

namespace samebits {
namespace {

constexpr const char* blis = "cblas:/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4";

TEST(Live, HaswellSplits500ByItsThreads) {
  if (!available("openblas")) GTEST_SKIP() << "no OpenBLAS";
  const auto one = probe_json("OPENBLAS_CORETYPE=Haswell", "openblas -m 64 -n 64 -k 500");
  EXPECT_EQ(one["reproduced"].get<int>(), 64 * 64);
  // 256 + 244, with two lanes (even and odd k) in regions.
  ASSERT_EQ(one["regions"].size(), 2u) << one.dump(1);
  EXPECT_EQ(one["regions"][0]["tree"], "[0..255] + ([256..499])");
  EXPECT_EQ(one["regions"][1]["tree"], "[0..254:2] + ([1..255:2]) + ([256..496:2] + [497..499] + ([257..495:2]))");
  EXPECT_TRUE(predicts(one, "openblas")) << one["profiles"].dump();

  const auto two = probe_json("OPENBLAS_CORETYPE=Haswell", "openblas -m 64 -n 64 -k 500 --threads 2");
  EXPECT_EQ(two["reproduced"].get<int>(), 64 * 64);
  EXPECT_EQ(two["regions"][0]["tree"], "[0..249] + ([250..499])") << two.dump(1);
  EXPECT_TRUE(predicts(two, "openblas(threads=2)")) << two["profiles"].dump();
}

TEST(Live, DotSumsItsTailInDouble) {
  if (!available("openblas(entry=dot)")) GTEST_SKIP() << "no OpenBLAS";
  for (const char* core : {"Haswell", "SkylakeX"}) {
    if (std::string(core) == "SkylakeX" && !__builtin_cpu_supports("avx512f")) continue;
    for (const int k : {20, 32, 37, 77, 200}) {
      const auto r =
          probe_json(std::string("OPENBLAS_CORETYPE=") + core, "'openblas(entry=numpy)' -m 1 -n 1 -k " + std::to_string(k));
      EXPECT_EQ(r["reproduced"].get<int>(), 1);
      if (k % 32 == 0) continue;
      EXPECT_NE(r["notes"].dump().find("more than float32"), std::string::npos) << r.dump(1);
      // Named: a tail of products rounded to float, added in double.
      const auto order = r["order"].get<std::string>();
      if (k < 32) {
        EXPECT_EQ(order, "f64 > mul(round=f32)");
      }
      EXPECT_TRUE(order.find("tailop=f64mul") != std::string::npos || order.find("f64") != std::string::npos) << order;
    }
  }
}

// One row of a product is axpyf in BLIS: its last columns add five products at a time in double.
TEST(Live, BlisAddsInDoubleAtTheEdge) {
  if (!available(blis)) GTEST_SKIP() << "no BLIS";
  for (const char* shape : {" -m 1 -n 9 -k 23", " -m 1 -n 2 -k 23", " -m 9 -n 1 -k 23", " -m 1 -n 17 -k 100",
                            " -m 1 -n 7 -k 3 --tb", " -m 1 -n 9 -k 23 --dtype f64"}) {
    const auto r = probe_json("A=b", blis + std::string(shape));
    EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << shape << r.dump(1);
  }
  const auto r = probe_json("A=b", blis + std::string(" -m 1 -n 9 -k 23"));
  if (std::string(open_backend(blis)->description()).find("0.9.0") != std::string::npos) {
    EXPECT_EQ(r["regions"][1]["tree"],
              "f64(f32(f64(f32(f64(f32(f64([0..4]:mul_f32)) + [5..9]:mul_f32)) + [10..14]:mul_f32)) + [15..19]:mul_f32) + "
              "[20..22]");
    EXPECT_NE(
        r["notes"].dump().find(
            "in 1 of 9 elements rounded products are added in a wider type, and the sum is rounded to float32 4 times"),
        std::string::npos)
        << r["notes"].dump();
  }
}

TEST(Live, OpenBlasIsWhatItsProfileSays) {
  if (!available("openblas")) GTEST_SKIP() << "no OpenBLAS";
  for (const std::string core : {"haswell", "skylakex", "cooperlake"}) {
    if (core != "haswell" && !__builtin_cpu_supports("avx512f")) {
      std::cout << core << " needs AVX-512, which this CPU lacks\n";
      continue;
    }
    const auto environment =
        "OPENBLAS_CORETYPE=" + std::map<std::string, std::string>{
                                   {"haswell", "Haswell"}, {"skylakex", "SkylakeX"}, {"cooperlake", "Cooperlake"}}[core];
    expect_as_predicted({environment, "openblas", "openblas", {{"core", core}, {"call", "gemm"}}, true, {1, 2}},
                        core == "cooperlake" ? 8 : 24);
    // As NumPy calls it: gemv for one row or column, dot for one element.
    expect_as_predicted({environment, "openblas(entry=numpy)", "numpy", {{"core", core}}, true, {1}}, 8, 12);
  }
}
TEST(Live, OneDnnIsWhatItsProfileSays) {
  if (!available("onednn")) GTEST_SKIP() << "no oneDNN";
  const bool avx512 = __builtin_cpu_supports("avx512f");
  expect_as_predicted({"A=b", "onednn", "onednn", {{"isa", avx512 ? "avx512" : "avx2"}}, false, {1, avx512 ? 2 : 1}}, 24);
  if (avx512) expect_as_predicted({"DNNL_MAX_CPU_ISA=AVX2", "onednn", "onednn", {{"isa", "avx2"}}, false}, 16);
}
TEST(Live, BlisIsWhatItsProfileSays) {
  if (!available(blis)) GTEST_SKIP() << "no BLIS";
  // Numbers of enum arch_t; all but skx run on any CPU with FMA.
  for (const auto& [arch, number] : {std::pair{"skx", "0"}, {"haswell", "3"}, {"zen3", "6"}}) {
    if (number[0] == '0' && !__builtin_cpu_supports("avx512f")) continue;
    expect_as_predicted({std::string("BLIS_ARCH_TYPE=") + number, blis, "blis", {{"arch", arch}, {"path", "small"}}, true},
                        24);
  }
}
TEST(Live, EigenIsWhatItsProfileSays) {
  if (!available("eigen")) GTEST_SKIP() << "built without Eigen";
  expect_as_predicted({"A=b", "eigen", "eigen", {{"isa", "avx2"}, {"contract", "off"}}, true}, 24);
}

// Clauses that these libraries are known to break, found on the machine at hand.
TEST(Live, CheckFindsTheRealFailures) {
  if (available("openblas")) {
    const auto out =
        run_program("OPENBLAS_CORETYPE=Haswell",
                    "check openblas --dtype f32 --clause threads --clause m-batch --clause counts --clause writes");
    EXPECT_EQ(out.status, 1) << out.text;
    EXPECT_NE(out.text.find("threads  FAILS"), std::string::npos) << out.text;
    EXPECT_NE(out.text.find("counts   holds"), std::string::npos) << out.text;
    EXPECT_NE(out.text.find("writes   holds"), std::string::npos) << out.text;
  }
  for (const std::string& backend : {std::string("onednn"), std::string("eigen"), std::string(blis)}) {
    if (!available(backend)) continue;
    const auto out = run_program("A=b", "check '" + backend + "' --dtype f32");
    EXPECT_EQ(out.status, 1) << out.text;
    for (const char* holds :
         {"run-to-run         holds", "counts             holds", "writes             holds", "bound              holds"})
      EXPECT_NE(out.text.find(holds), std::string::npos) << out.text;
    for (const char* fails : {"m-one              FAILS", "n-one              FAILS", "rounding-mode      FAILS"})
      EXPECT_NE(out.text.find(fails), std::string::npos) << out.text;
  }
}

// A program that is started once: hundreds of calls in a second.
TEST(Live, NumpyAsAProgramIsReproduced) {
  const std::string program = "command(loop=yes):/usr/bin/python3 " SAMEBITS_EXAMPLES "/loop_numpy.py";
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "no NumPy for /usr/bin/python3";
  for (const char* call : {" -m 6 -n 7 -k 37 --tb", " -m 64 -n 64 -k 500 --threads 2", " -m 9 -n 5 -k 23 --ta --dtype f64",
                           " -m 1 -n 9 -k 31"}) {
    const auto r = probe_json("A=b", "'" + program + "'" + call);
    EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << call << r.dump(1);
  }
}

TEST(Live, FingerprintsTellCoresApart) {
  if (!available("openblas")) GTEST_SKIP() << "no OpenBLAS";
  if (!__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "one core only on this CPU";
  const std::string directory = ::testing::TempDir();
  const auto shapes = directory + "samebits_calls.txt", file = directory + "samebits_fingerprint.json";
  std::FILE* f = std::fopen(shapes.c_str(), "w");
  std::fputs("# two calls\nf32 6 x 7 x 37, tb\nf32 64 x 64 x 500\n", f);
  std::fclose(f);
  ASSERT_EQ(run_program("OPENBLAS_CORETYPE=SkylakeX", "fingerprint openblas --shapes " + shapes + " > " + file).status, 0);
  EXPECT_EQ(run_program("OPENBLAS_CORETYPE=SkylakeX", "fingerprint --check " + file).status, 0);
  const auto other = run_program("OPENBLAS_CORETYPE=Haswell", "fingerprint --check " + file);
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.text.find("f32 6 x 7 x 37, tb: the order changed"), std::string::npos) << other.text;
  EXPECT_EQ(run_program("A=b", "fingerprint --check " + shapes).status, 2);
}

TEST(Live, ErrorsHaveStatus2) {
  for (const char* arguments : {"probe cblas:/no/such.so -m 2 -n 2 -k 2", "probe nothing -m 2 -n 2 -k 2",
                                "probe 'command:false {a} {b} {c}' -m 2 -n 2 -k 2",
                                "probe 'command(timeout=0.3):sleep 60; : {a} {b} {c}' -m 2 -n 2 -k 2",
                                "check cblas:/no/such.so", "check naive --clause nothing", "check naive --threads 0",
                                "check naive --same-as nothing", "probe naive -m 2 -n 2 -k 2 --a-offset 3",
                                "probe naive -m 0 -n 2 -k 2", "fingerprint", "probe onednn -m 2 -n 2 -k 2 --dtype f64"}) {
    const auto out = run_program("A=b", arguments);
    EXPECT_EQ(out.status, 2) << arguments << "\n" << out.text;
    EXPECT_FALSE(out.text.empty());
  }
}

}  // namespace
}  // namespace samebits
