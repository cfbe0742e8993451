// SPDX-License-Identifier: Apache-2.0
// Libraries from PyPI, in the venv that `./run test --peers` makes, and Debian's PyTorch. What is not there is skipped by
// name.
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/live.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;

// The first file below the venv whose name begins so.
std::string find(const std::string& beginning) {
  std::error_code error;
  for (const auto& entry :
       fs::recursive_directory_iterator(SAMEBITS_VENV, fs::directory_options::skip_permission_denied, error))
    if (entry.path().filename().string().rfind(beginning, 0) == 0) return entry.path().string();
  return "";
}

// A Python that has the module: the venv's, else the system's; empty where neither has.
std::string python_with(const std::string& module) {
  for (const std::string python : {SAMEBITS_VENV "/bin/python", "/usr/bin/python3"})
    if (fs::exists(python) && std::system((python + " -c 'import " + module + "' 2>/dev/null").c_str()) == 0) return python;
  return "";
}
std::string loop(const std::string& python, const std::string& script) {
  return "command(loop=yes):" + python + " " SAMEBITS_EXAMPLES "/" + script;
}

// One line a clause, "threads            FAILS           ...".
void expect_clauses(const Output& report, const std::vector<std::pair<std::string, std::string>>& verdicts) {
  for (const auto& [clause, verdict] : verdicts)
    EXPECT_NE(report.text.find(clause + std::string(19 - clause.size(), ' ') + verdict), std::string::npos) << clause << "\n"
                                                                                                            << report.text;
}

TEST(Peers, OnnxRuntimeIsWhatItsProfileSays) {
  const auto path = find("libonnxruntime.so");
  if (path.empty()) GTEST_SKIP() << "no ONNX Runtime in " SAMEBITS_VENV;
  const auto ort = "onnxruntime:" + path;
  ASSERT_TRUE(available(ort));
  for (const bool constant : {true, false})
    for (const std::string node : {"", "(node=gemm)"})  // MatMul where nothing is transposed, or Gemm always
      expect_as_predicted({.backend = ort + node,
                           .profile = "onnxruntime-cpu",
                           .keys = {{"b", constant ? "const" : "input"}, {"isa", "fma"}},
                           .threads = {1, 2},
                           .constant_b = constant},
                          24);
  for (const char* call :
       {" -m 6 -n 7 -k 5 --tb --constant-b", " -m 6 -n 300 -k 600 --constant-b", " -m 6 -n 300 -k 600", " -m 6 -n 40 -k 600",
        " -m 1 -n 40 -k 22", " -m 1 -n 7 -k 37 --tb", " -m 2 -n 40 -k 2000 --threads 2", " -m 5 -n 33 -k 300 --dtype f64"}) {
    const auto r = probe_json("A=b", ort + call);
    EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << call;
    EXPECT_TRUE(predicts(r, "onnxruntime-cpu")) << call << " " << r["profiles"].dump() << r["order"].dump();
  }
}

// The real failures, by name: threads and single rows take other kernels, constant and variable B other blocks.
TEST(Peers, CheckFindsTheRealFailures) {
  const auto ort = find("libonnxruntime.so"), mkl = find("libmkl_rt.so"), blas = find("libscipy_openblas64_");
  if (!ort.empty())
    expect_clauses(run_program("A=b", "check onnxruntime:" + ort + " --dtype f32"), {{"run-to-run", "holds"},
                                                                                     {"threads", "FAILS"},
                                                                                     {"m-one", "FAILS"},
                                                                                     {"constant-b", "FAILS"},
                                                                                     {"counts", "holds"},
                                                                                     {"writes", "holds"},
                                                                                     {"bound", "holds"}});
  if (!mkl.empty())
    expect_clauses(run_program("MKL_THREADING_LAYER=INTEL", "check cblas:" + mkl + " --dtype f32"), {{"run-to-run", "holds"},
                                                                                                     {"m-one", "FAILS"},
                                                                                                     {"n-one", "FAILS"},
                                                                                                     {"alignment", "FAILS"},
                                                                                                     {"counts", "holds"},
                                                                                                     {"writes", "holds"},
                                                                                                     {"bound", "holds"}});
  if (!blas.empty())
    expect_clauses(
        run_program("OPENBLAS_CORETYPE=Haswell", "check 'cblas:" + blas + "(prefix=scipy_, suffix=64_, entry=numpy)'"),
        {{"run-to-run", "holds"},
         {"threads", "FAILS"},
         {"m-one", "FAILS"},
         {"n-one", "FAILS"},
         {"counts", "holds"},
         {"writes", "holds"},
         {"bound", "holds"}});
  if (ort.empty() && mkl.empty() && blas.empty()) GTEST_SKIP() << "no library in " SAMEBITS_VENV;
}

TEST(Peers, NumPysOpenBlasIsWhatItsProfileSays) {
  const auto path = find("libscipy_openblas64_");
  if (path.empty()) GTEST_SKIP() << "no NumPy in " SAMEBITS_VENV;
  const auto blas = "cblas:" + path + "(prefix=scipy_, suffix=64_, entry=numpy)";
  ASSERT_TRUE(available(blas));
  for (const std::string core : {"haswell", "skylakex"}) {
    if (core == "skylakex" && !__builtin_cpu_supports("avx512f")) {
      std::cout << "SkylakeX needs AVX-512, which this CPU lacks\n";
      continue;
    }
    expect_as_predicted({.environment = "OPENBLAS_CORETYPE=" + std::string(core == "haswell" ? "Haswell" : "SkylakeX"),
                         .backend = blas,
                         .profile = "numpy",
                         .keys = {{"core", core}, {"openblas", "0.3.27"}},
                         .threads = {1, 2}},
                        32);
  }
}

TEST(Peers, MklIsWhatItsProfileSays) {
  const auto path = find("libmkl_rt.so");
  if (path.empty()) GTEST_SKIP() << "no MKL in " SAMEBITS_VENV;
  ASSERT_TRUE(available("cblas:" + path));
  const std::string dispatch = __builtin_cpu_is("amd") ? "amd" : __builtin_cpu_supports("avx512f") ? "avx512" : "avx2";
  expect_as_predicted({.environment = "MKL_THREADING_LAYER=SEQUENTIAL",
                       .backend = "cblas:" + path,
                       .profile = "mkl",
                       .keys = {{"dispatch", dispatch}}},
                      32);
}

// Up to eight orders in one result.
TEST(Peers, MklWhereManyTreesHold) {
  const auto path = find("libmkl_rt.so");
  if (path.empty()) GTEST_SKIP() << "no MKL in " SAMEBITS_VENV;
  for (const char* call : {" -m 6 -n 7 -k 37", " -m 6 -n 7 -k 37 --tb", " -m 6 -n 7 -k 37 --tb --a-offset 4",
                           " -m 6 -n 7 -k 37 --tb --dtype f64"}) {
    const auto r = probe_json("MKL_THREADING_LAYER=SEQUENTIAL", "cblas:" + path + call);
    EXPECT_EQ(r["reproduced"].get<int>(), 42) << call;
    std::cout << "MKL" << call << ": " << r["regions"].size() << " orders\n";
  }
}

TEST(Peers, PyTorchAsAProgramIsReproduced) {
  const auto python = python_with("torch");
  if (python.empty()) GTEST_SKIP() << "no PyTorch for " SAMEBITS_VENV "/bin/python and /usr/bin/python3";
  std::system((python + " -c 'import torch; print(\"PyTorch\", torch.__version__, "
                        "torch.__config__.show().split(\"BLAS_INFO=\")[1].split(\",\")[0])'")
                  .c_str());
  std::cout.flush();
  for (const std::string what : {"mm", "linear"})
    for (const char* shape : {" -m 6 -n 7 -k 37", " -m 6 -n 7 -k 5", " -m 64 -n 64 -k 500", " -m 1 -n 9 -k 31",
                              " -m 6 -n 7 -k 37 --dtype f64", " -m 6 -n 7 -k 37 --threads 2"}) {
      const auto call = " '" + loop(python, "loop_torch.py " + what) + "'" + shape + (what == "linear" ? " --tb" : "");
      const auto r = probe_json("A=b", call);
      EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << call << r.dump(1);
      std::cout << what << shape << ": " << r["regions"].size() << " orders, predicted by " << r["profiles"].dump() << "\n";
    }
}

// Two programs, end to end: why do NumPy and ONNX Runtime differ?
TEST(Peers, ExplainComparesPrograms) {
  const auto python = python_with("onnxruntime");
  if (python.empty()) GTEST_SKIP() << "no Python with ONNX Runtime in " SAMEBITS_VENV;
  const std::string directory = ::testing::TempDir();
  const auto explained = [&](const std::string& m, const std::string& k, const std::string& n) {
    const auto a = directory + "samebits_a.npy", b = directory + "samebits_b.npy";
    const auto made = std::system((python + " -c \"import numpy as np; r = np.random.default_rng(1); np.save('" + a +
                                   "', r.standard_normal((" + m + ", " + k + "), dtype='f4')); np.save('" + b +
                                   "', r.standard_normal((" + k + ", " + n + "), dtype='f4'))\"")
                                      .c_str());
    EXPECT_EQ(made, 0);
    return run_program("OPENBLAS_CORETYPE=Haswell", "explain " + a + " " + b + " '" + loop(python, "loop_numpy.py") + "' '" +
                                                        loop(python, "loop_onnxruntime.py") + "'");
  };
  // One row: ONNX Runtime adds groups of four products, without FMA.
  const auto row = explained("1", "40", "8");
  EXPECT_EQ(row.status, 1) << row.text;
  EXPECT_NE(row.text.find("> mul"), std::string::npos) << row.text;
  EXPECT_NE(row.text.find("explained"), std::string::npos) << row.text;
  // OpenBLAS on Haswell sums even and odd k apart at some places.
  const auto large = explained("64", "500", "64");
  EXPECT_EQ(large.status, 1) << large.text;
  EXPECT_NE(large.text.find("4096 of 4096 elements replayed bit for bit"), std::string::npos) << large.text;
  EXPECT_NE(large.text.find("lanes(2"), std::string::npos) << large.text;
}

}  // namespace
}  // namespace samebits
