// SPDX-License-Identifier: Apache-2.0
// Libraries from PyPI, in the venv that `./run test --peers` makes. What is not there is skipped by name.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/program.h"

namespace samebits {
namespace {

namespace fs = std::filesystem;

// The first file below the venv whose name begins so.
std::string find(const std::string& beginning) {
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(SAMEBITS_VENV, fs::directory_options::skip_permission_denied, error))
    if (entry.path().filename().string().rfind(beginning, 0) == 0) return entry.path().string();
  return "";
}

nlohmann::json probe_json(const std::string& arguments, const std::string& environment = "A=b") {
  const auto out = run_program(environment, "probe --json " + arguments);
  EXPECT_EQ(out.status, 0) << arguments << "\n" << out.text;
  return nlohmann::json::parse(out.text, nullptr, false);
}
bool predicts(const nlohmann::json& result, const std::string& profile) {
  for (const auto& name : result["profiles"])
    if (name.get<std::string>().rfind(profile, 0) == 0) return true;
  return false;
}

TEST(Peers, OnnxRuntimeIsWhatItsProfileSays) {
  const auto path = find("libonnxruntime.so");
  if (path.empty()) GTEST_SKIP() << "no ONNX Runtime in " SAMEBITS_VENV;
  const auto ort = "onnxruntime:" + path;
  for (const char* call : {" -m 6 -n 7 -k 5 --tb --constant-b", " -m 6 -n 300 -k 600 --constant-b", " -m 6 -n 300 -k 600", " -m 6 -n 40 -k 600", " -m 1 -n 40 -k 22",
                           " -m 1 -n 7 -k 37 --tb", " -m 2 -n 40 -k 2000 --threads 2", " -m 5 -n 33 -k 300 --dtype f64"}) {
    const auto r = probe_json(ort + call);
    EXPECT_EQ(r["reproduced"].get<int>(), r["elements"].get<int>()) << call;
    EXPECT_TRUE(predicts(r, "onnxruntime-cpu")) << call << " " << r["profiles"].dump() << r["order"].dump();
  }
  const auto report = run_program("A=b", "check " + ort + " --dtype f32");
  EXPECT_EQ(report.status, 1);
  EXPECT_NE(report.text.find("threads            FAILS"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("m-one              FAILS"), std::string::npos) << report.text;
  EXPECT_NE(report.text.find("counts             holds"), std::string::npos) << report.text;
}

TEST(Peers, ScipyOpenBlasByItsPrefix) {
  const auto path = find("libscipy_openblas");
  if (path.empty()) GTEST_SKIP() << "no OpenBLAS in " SAMEBITS_VENV;
  const bool wide = path.find("64_") != std::string::npos;
  const auto blas = "'cblas:" + path + "(prefix=scipy_" + (wide ? ", suffix=64_" : "") + ", entry=numpy)'";
  const auto r = probe_json(blas + " -m 64 -n 64 -k 500", "OPENBLAS_CORETYPE=Haswell");
  EXPECT_EQ(r["reproduced"].get<int>(), 4096);
  EXPECT_TRUE(predicts(r, "numpy") || predicts(r, "openblas")) << r["profiles"].dump();
}

TEST(Peers, MklWhereManyTreesHold) {
  const auto path = find("libmkl_rt.so");
  if (path.empty()) GTEST_SKIP() << "no MKL in " SAMEBITS_VENV;
  for (const char* call : {" -m 6 -n 7 -k 37", " -m 6 -n 7 -k 37 --tb", " -m 6 -n 7 -k 37 --tb --a-offset 4", " -m 6 -n 7 -k 37 --tb --dtype f64"}) {
    const auto r = probe_json("cblas:" + path + call, "MKL_THREADING_LAYER=SEQUENTIAL");
    EXPECT_EQ(r["reproduced"].get<int>(), 42) << call;
  }
}

// Two programs, end to end: why do NumPy and ONNX Runtime differ?
TEST(Peers, ExplainComparesPrograms) {
  const std::string python = SAMEBITS_VENV "/bin/python";
  if (!fs::exists(python) || find("libonnxruntime.so").empty()) GTEST_SKIP() << "no Python with ONNX Runtime in " SAMEBITS_VENV;
  const std::string directory = ::testing::TempDir();
  const auto numpy = directory + "samebits_numpy.py", ort = directory + "samebits_ort.py";
  std::ofstream(numpy) << "import sys, numpy as np\na, b = np.load(sys.argv[1]), np.load(sys.argv[2])\nnp.save(sys.argv[3], a @ b)\n";
  std::ofstream(ort) << "import sys, numpy as np, onnxruntime as ort\n"
                        "a, b = np.load(sys.argv[1]), np.ascontiguousarray(np.load(sys.argv[2]))\n"
                        "def varint(n):\n    out = b''\n    while n > 127:\n        out += bytes([n & 127 | 128]); n >>= 7\n    return out + bytes([n])\n"
                        "def field(i, x):\n    return varint(i << 3 | 2) + varint(len(x)) + x if isinstance(x, bytes) else varint(i << 3) + varint(x)\n"
                        "def value(name): return field(1, name) + field(2, field(1, field(1, 1)))\n"
                        "node = field(1, b'a') + field(1, b'b') + field(2, b'y') + field(4, b'MatMul')\n"
                        "graph = field(1, node) + field(2, b'g') + field(11, value(b'a')) + field(11, value(b'b')) + field(12, value(b'y'))\n"
                        "model = field(1, 7) + field(7, graph) + field(8, field(1, b'') + field(2, 13))\n"
                        "session = ort.InferenceSession(model, providers=['CPUExecutionProvider'])\n"
                        "np.save(sys.argv[3], session.run(None, {'a': a, 'b': b})[0])\n";
  const auto command = [&](const std::string& script) { return "'command:" + python + " " + script + " {a} {b} {c}'"; };
  const auto r = probe_json("--no-epilogue " + command(numpy) + " -m 6 -n 7 -k 5");
  EXPECT_EQ(r["reproduced"].get<int>(), 42);
  const auto a = directory + "samebits_a.npy", b = directory + "samebits_b.npy";
  const auto made = std::system((python + " -c \"import numpy as np; r = np.random.default_rng(1); np.save('" + a + "', r.standard_normal((1, 12), dtype='f4')); np.save('" +
                                 b + "', r.standard_normal((12, 8), dtype='f4'))\"").c_str());
  ASSERT_EQ(made, 0);
  // One row: each call costs a process. ONNX Runtime adds groups of four products there (three of them), NumPy has a chain.
  const auto explained = run_program("A=b", "explain " + a + " " + b + " " + command(numpy) + " " + command(ort));
  EXPECT_TRUE(explained.status == 0 || explained.status == 1 || explained.status == 3) << explained.text;
  EXPECT_NE(explained.text.find("split(3) > mul"), std::string::npos) << explained.text;
}

}  // namespace
}  // namespace samebits
