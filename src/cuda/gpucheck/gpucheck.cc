// SPDX-License-Identifier: Apache-2.0
// samebits-gpucheck [--out FILE] [--only STEP,...] [--quick]: everything about the CUDA part that only a GPU can show, in one run of at
// most eight minutes, written as JSON (docs/cuda.md describes it). Each step runs in a process of its own with a time limit,
// so that a kernel that hangs costs its step only; this process never touches the device.
// Exit status: 0 all steps passed, 1 a step did not, 2 usage, 3 no GPU (the JSON says why).
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cuda/backends.h"
#include "cuda/plan.h"
#include "reference/reference.h"
#include "samebits/check.h"
#include "samebits/probe.h"

namespace samebits::cuda {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

void send(int fd, const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) break;
    at += static_cast<std::size_t>(n);
  }
}

// A step's way to stop in time, and to leave what it has learnt so far in case that it does not come back.
class Deadline {
 public:
  Deadline(int seconds, int fd) : end_(Clock::now() + std::chrono::seconds(seconds)), fd_(fd) {}
  bool passed() const { return Clock::now() >= end_; }
  void so_far(const Json& result) const { send(fd_, result); }

 private:
  Clock::time_point end_;
  int fd_;
};

bool quick = false;  // small shapes: for the simulator

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-12, 12);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(std::ldexp(normal(random), exponent(random)));
  return x;
}

template <class T>
bool same(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof(T)) == 0;
}

// (a) Kernels against the reference.

struct KernelCase {
  const char* order;
  Index m, n, k;
  bool trans_a, trans_b;
  double alpha, beta;
};

template <class T>
std::string run_case(const KernelCase& c, const DeviceLimits& device, const Choices& choices) {
  const auto a = random_values<T>(static_cast<std::size_t>(c.m * c.k), 1), b = random_values<T>(static_cast<std::size_t>(c.k * c.n), 2);
  auto result = random_values<T>(static_cast<std::size_t>(c.m * c.n), 3), want = result;
  const Order order = Order::parse(c.order);
  const auto view = [](const T* data, Index rows, Index cols, bool transposed) {
    return transposed ? col_major(data, rows, cols) : row_major(data, rows, cols);
  };
  reference::gemm(T(c.alpha), view(a.data(), c.m, c.k, c.trans_a), view(b.data(), c.k, c.n, c.trans_b), T(c.beta), row_major(want.data(), c.m, c.n), order);
  const LaunchPlan<T> plan(order, c.m, c.n, c.k, device, choices);
  const auto upload = [](const auto& v) { return DeviceMemory(v.data(), v.size() * sizeof(v[0])); };
  const DeviceMemory da = upload(a), db = upload(b), dc = upload(result), runs = upload(plan.program().runs), pieces = upload(plan.program().pieces),
                     map = upload(plan.program().map), workspace(plan.workspace_bytes());
  plan.run(*stream_executor(nullptr),
           {static_cast<const DeviceRun*>(runs.data()), static_cast<const Piece*>(pieces.data()), static_cast<const std::uint32_t*>(map.data())}, T(c.alpha),
           view(static_cast<const T*>(da.data()), c.m, c.k, c.trans_a), view(static_cast<const T*>(db.data()), c.k, c.n, c.trans_b), T(c.beta),
           row_major(static_cast<T*>(dc.data()), c.m, c.n), {}, workspace.data(), plan.workspace_bytes());
  synchronize(nullptr);
  copy_to_host(result.data(), dc.data(), result.size() * sizeof(T));
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = result.size(); i-- > 0;)
    if (!same(result[i], want[i])) ++wrong, first = i;
  if (wrong == 0) return "";
  return fmt::format("{} {} {}x{}x{}{}{} on {}: {} of {} differ, first ({}, {}): {:a}, should be {:a}", sizeof(T) == 4 ? "f32" : "f64", c.order, c.m, c.n, c.k,
                     c.trans_a ? " ta" : "", c.trans_b ? " tb" : "", plan.kernel(), wrong, result.size(), first / static_cast<std::size_t>(c.n),
                     first % static_cast<std::size_t>(c.n), result[first], want[first]);
}

Json check_kernels(const Deadline& deadline) {
  const Device d = current_device();
  const DeviceLimits device{d.architecture, d.multiprocessors, d.shared_per_block};
  const char* const orders[] = {"fma", "mul", "chunks(8) > fma", "chunks(32) > fma", "chunks(100) > mul", "split(4) > fma", "lanes(8, fold=halves) > fma",
                                "lanes(4, fold=pairs) > mul", "pairwise(8) > fma", "reverse > fma", "f64 > fma", "bf16(rne) > fma"};
  std::vector<std::string> tensor;
  const std::string block = d.architecture < 90 ? "mma(4,24)" : "mma(8,25)";
  for (const char* rounding : {"rna", "rne", "rz"}) tensor.push_back(fmt::format("tf32({}) > {}", rounding, block));
  tensor.push_back(fmt::format("tf32(rna) > chunks(20) > {}", block));
  tensor.push_back(fmt::format("tf32(rna) > split(3) > {}", block));
  if (d.architecture / 10 == 9) tensor.push_back("tf32(rna) > mma(4,25)");
  const std::array<Index, 3> shapes[] = {{6, 7, 5}, {133, 71, 107}, {257, 300, 129}, {1, 512, 700}, {128, 128, 256}, {33, 1000, 64}};
  int cases = 0;
  Json failures = Json::array();
  const auto note = [&](const std::string& failure) {
    ++cases;
    if (!failure.empty()) failures.push_back(failure);
  };
  bool complete = true;
  const auto result = [&] {
    return Json{{"status", !failures.empty() ? "failed" : complete ? "passed" : "incomplete"}, {"cases", cases}, {"failures", failures}};
  };
  for (const auto& [m, n, k] : std::span(shapes).first(quick ? 2 : std::size(shapes)))
    for (int variant = 0; variant < 4; ++variant) {
      complete = complete && !deadline.passed();
      if (!complete) continue;
      deadline.so_far(result());
      Choices choices;
      choices.tile = variant % 2 ? Choices::Tile::large : Choices::Tile::small;
      choices.pieces = variant == 2 ? Choices::Pieces::several_blocks : Choices::Pieces::automatic;
      KernelCase c{"", m, n, k, variant % 2 == 1, variant / 2 == 1, variant == 3 ? -1.5 : 1, variant == 1 ? 0.5 : 0};
      for (const char* order : orders) {
        c.order = order;
        note(run_case<float>(c, device, choices));
        if (std::strncmp(order, "bf16", 4) == 0) continue;
        note(run_case<double>(c, device, choices));
        choices.tensor_f64 = false;
        if (std::strstr(order, "fma")) note(run_case<double>(c, device, choices));
        choices.tensor_f64 = true;
      }
      for (const auto& order : tensor) {
        c.order = order.c_str();
        note(run_case<float>(c, device, choices));
      }
    }
  return result();
}

// (b), (d) The orders of cuBLAS.

Json probe_call(Backend& backend, Index m, Index n, Index k, bool trans_b) {
  ProbeCall call;
  call.m = m, call.n = n, call.k = k, call.trans_b = trans_b;
  ProbeOptions options;
  options.epilogue = false;
  options.max_calls = 20000;
  Json out{{"backend", backend.name()}, {"m", m}, {"n", n}, {"k", k}, {"layout", trans_b ? "TN" : "NN"}};
  try {
    const ProbeResult result = probe(backend, call, options);
    out["reproduced"] = result.ok();
    out["order"] = result.order.text();
    Json regions = Json::array();
    for (const auto& region : result.regions) regions.push_back({{"order", region.order.text()}, {"tree", region.tree}, {"elements", region.elements}});
    out["regions"] = regions;
    out["calls"] = result.calls;
  } catch (const std::exception& e) {
    out["reproduced"] = false;
    out["error"] = e.what();
  }
  return out;
}

// Whether one of the predicted orders is that of all elements.
template <class Orders>
bool held(const Json& result, const Orders& predicted, Index k) {
  if (!result.value("reproduced", false) || result["regions"].size() != 1) return false;
  const Order measured = Order::parse(result["order"].get<std::string>());
  for (const auto& text : predicted)
    if (equivalent(measured, Order::parse(text), static_cast<std::size_t>(k))) return true;
  return false;
}

constexpr const char* modes[] = {"default", "pedantic", "tf32"};

// The linear layer of 5 inputs and 7 outputs, 6 rows. Row-major TN is what a framework calls that keeps the weight as (7, 5),
// NN one that has it transposed to (5, 7).
Json origin_case(const Deadline& deadline) {
  Json results = Json::array();
  bool complete = true;
  for (const char* name : {"cublas", "cublaslt"})
    for (const char* mode : modes) {
      std::unique_ptr<Backend> backend;
      try {
        backend = open_cuda_backend(fmt::format("{}(mode={})", name, mode));
      } catch (const std::exception& e) {
        results.push_back({{"backend", name}, {"mode", mode}, {"reproduced", false}, {"error", e.what()}});
        continue;
      }
      for (bool trans_b : {true, false}) {
        complete = complete && !deadline.passed();
        if (!complete) continue;
        Json result = probe_call(*backend, 6, 7, 5, trans_b);
        result["mode"] = mode;
        result["library"] = backend->description();
        if (std::string(mode) != "tf32") {
          // What was predicted from the public sources: one chain for TN, pieces of ceil(5/S) for NN.
          const std::vector<std::string> predicted = trans_b ? std::vector<std::string>{"fma"} : std::vector<std::string>{"split(2) > fma", "split(4) > fma"};
          result["predicted"] = predicted;
          result["held"] = held(result, predicted, 5);
        }
        results.push_back(result);
        deadline.so_far({{"results", results}});
      }
    }
  return {{"status", complete ? "passed" : "incomplete"}, {"results", results}};
}

// What the profile `cublas` has for calls without TF32 (it is chosen by the kernel, which the library does not tell).
constexpr const char* profile_orders[] = {"fma", "split(2) > chunks(256) > fma", "split(4) > chunks(128) > fma"};

Json other_shapes(const Deadline& deadline) {
  const std::array<Index, 3> shapes[] = {{1, 1000, 512}, {1, 4096, 64}, {2, 64, 100},  {4, 16, 300},   {8, 128, 64},   {16, 16, 1024},
                                         {32, 32, 32},   {64, 64, 500}, {100, 100, 100}, {128, 128, 256}, {6, 7, 1200}, {512, 64, 48}};
  Json results = Json::array();
  bool complete = true;
  const auto backend = open_cublas("cublas");
  for (const auto& [m, n, k] : std::span(shapes).first(quick ? 3 : std::size(shapes)))
    for (bool trans_b : {true, false}) {
      complete = complete && !deadline.passed();
      if (!complete) continue;
      Json result = probe_call(*backend, m, n, k, trans_b);
      result["predicted"] = profile_orders;
      result["held"] = held(result, profile_orders, k);
      results.push_back(result);
      deadline.so_far({{"library", backend->description()}, {"results", results}});
    }
  return {{"status", complete ? "passed" : "incomplete"}, {"library", backend->description()}, {"results", results}};
}

// (c) How cuBLAS rounds to TF32, and the tensor core's block.

std::vector<float> multiply(Backend& backend, Index m, Index n, Index k, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> c(static_cast<std::size_t>(m * n));
  BackendCall<float> call;
  call.m = m, call.n = n, call.k = k, call.a = a.data(), call.lda = k, call.b = b.data(), call.ldb = n, call.c = c.data(), call.ldc = n;
  backend.multiply(call);
  return c;
}

Json tf32_facts(const Deadline& deadline) {
  const auto backend = open_cublas("cublas(mode=tf32)");
  Json out{{"library", backend->description()}};
  // Ties: between 1 and 1 + 2^-10 (even is 1), and between 1 + 2^-10 and 1 + 2^-9 (even is the latter).
  constexpr Index size = 64;
  std::vector<float> a(size * size), b(size * size);
  a[0] = 0x1p0f + 0x1p-11f;
  a[size] = 0x1p0f + 0x3p-11f;
  a[2 * size] = 0x1p0f + 0x1p-12f;
  for (Index j = 0; j < size; ++j) b[static_cast<std::size_t>(j)] = 1;
  const auto ties = multiply(*backend, size, size, size, a, b);
  const float up = 0x1p0f + 0x1p-10f, upper = 0x1p0f + 0x1p-9f;
  const float first = ties[0], second = ties[size], below = ties[2 * size];
  const char* rounding = below != 1.0f                        ? "none: inputs were not rounded to TF32"
                         : first == 1.0f && second == upper ? "rne"
                         : first == up && second == upper   ? "rna"
                         : first == 1.0f && second == up    ? "rz"
                                                            : "other";
  out["ties"] = {{"1 + 2^-11", fmt::format("{:a}", first)}, {"1 + 3*2^-11", fmt::format("{:a}", second)}, {"1 + 2^-12", fmt::format("{:a}", below)}};
  out["rounding"] = rounding;
  // The block: which of these orders gives cuBLAS's bits on random data?
  Json blocks = Json::array();
  bool complete = true;
  for (Index k : {Index{8}, Index{64}, Index{200}}) {
    const auto x = random_values<float>(static_cast<std::size_t>(size * k), 11), y = random_values<float>(static_cast<std::size_t>(k * size), 12);
    const auto got = multiply(*backend, size, size, k, x, y);
    Json reproduced = Json::array();
    for (const char* conversion : {"rne", "rna", "rz"})
      for (const char* block : {"4,24", "8,25", "4,25", "8,24"})
        for (const char* before : {"", ", first=16", ", first=32"}) {
          complete = complete && !deadline.passed();
          if (!complete) continue;
          const Order order = Order::parse(fmt::format("tf32({}) > mma({}{})", conversion, block, before));
          std::vector<float> want(got.size());
          reference::gemm(1.0f, row_major(x.data(), size, k), row_major(y.data(), k, size), 0.0f, row_major(want.data(), size, size), order);
          bool equal = true;
          for (std::size_t i = 0; i < got.size() && equal; ++i) equal = same(got[i], want[i]);
          if (equal) reproduced.push_back(order.text());
        }
    blocks.push_back({{"k", k}, {"reproduced_by", reproduced}});
  }
  out["blocks"] = blocks;
  out["status"] = complete ? "passed" : "incomplete";
  return out;
}

// (e) Speed, operands in device memory; the best of some runs after a warm-up.

template <class F>
double best_seconds(F work, int runs) {
  double best = 1e30;
  for (int i = 0; i < runs + 1; ++i) {
    const double s = seconds([](void* w) { (*static_cast<F*>(w))(); }, &work);
    if (i > 0) best = std::min(best, s);
  }
  return best;
}

template <class T>
Json measure(const std::string& order, const char* mode, Index m, Index n, Index k) {
  const Plan<T> plan(Order::parse(order), m, n, k);
  const auto repeated = [](Index size, std::uint64_t seed) {  // drawing each would take longer than multiplying
    auto x = random_values<T>(static_cast<std::size_t>(std::min<Index>(size, 65521)), seed);
    for (const std::size_t period = x.size(); x.size() < static_cast<std::size_t>(size);) x.push_back(x[x.size() - period]);
    return x;
  };
  const auto host_a = repeated(m * k, 1), host_b = repeated(k * n, 2);
  const DeviceMemory a(host_a.data(), host_a.size() * sizeof(T)), b(host_b.data(), host_b.size() * sizeof(T)), c(static_cast<std::size_t>(m * n) * sizeof(T)),
      workspace(plan.workspace_bytes());
  const auto* pa = static_cast<const T*>(a.data());
  const auto* pb = static_cast<const T*>(b.data());
  auto* pc = static_cast<T*>(c.data());
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const int runs = flops > 1e12 ? 2 : 5;
  const double ours = best_seconds(
      [&] { plan.run(nullptr, T(1), row_major(pa, m, k), row_major(pb, k, n), T(0), row_major(pc, m, n), {}, workspace.data(), plan.workspace_bytes()); }, runs);
  Json out{{"type", sizeof(T) == 4 ? "f32" : "f64"}, {"order", order}, {"kernel", plan.kernel()}, {"m", m}, {"n", n}, {"k", k}, {"gflops", flops / ours * 1e-9}};
  try {
    const auto cublas = open_cublas_on_device(fmt::format("cublas(mode={})", mode));
    BackendCall<T> call;
    call.m = m, call.n = n, call.k = k, call.a = pa, call.lda = k, call.b = pb, call.ldb = n, call.c = pc, call.ldc = n;
    const double theirs = best_seconds([&] { cublas->on_device(call); }, runs);
    out["cublas_mode"] = mode;
    out["cublas_gflops"] = flops / theirs * 1e-9;
    out["ratio"] = theirs / ours;
  } catch (const Error& e) {
    out["cublas_error"] = e.what();
  }
  return out;
}

Json speed(const Deadline& deadline) {
  const std::string block = current_device().architecture < 90 ? "mma(4,24)" : "mma(8,25)";
  const std::array<Index, 3> shapes[] = {{4096, 4096, 4096}, {1024, 1024, 1024}, {8192, 8192, 8192}, {512, 512, 512}, {2048, 2048, 2048},
                                         {8, 4096, 4096},    {1, 4096, 4096},    {4096, 8, 4096},    {64, 64, 16384}, {4096, 4096, 64}};
  Json results = Json::array();
  bool complete = true;
  for (const auto& shape : shapes) {
    const auto limit = [](Index x) { return quick ? std::min<Index>(x, 96) : x; };
    const Index m = limit(shape[0]), n = limit(shape[1]), k = limit(shape[2]);
    for (int kind = 0; kind < 6; ++kind) {
      complete = complete && !deadline.passed();
      if (!complete) continue;
      const bool wide = kind == 2;
      const std::string orders[] = {"fma", "tf32(rna) > " + block, "fma", "mul", "chunks(32) > fma", "lanes(16, fold=halves) > fma"};
      const char* mode = kind == 1 ? "tf32" : wide ? "default" : "pedantic";
      try {
        results.push_back(wide ? measure<double>(orders[kind], mode, m, n, k) : measure<float>(orders[kind], mode, m, n, k));
      } catch (const Error& e) {  // no memory for this shape, say
        results.push_back({{"type", wide ? "f64" : "f32"}, {"order", orders[kind]}, {"m", m}, {"n", n}, {"k", k}, {"error", e.what()}});
      }
      deadline.so_far({{"results", results}});
    }
  }
  return {{"status", complete ? "passed" : "incomplete"}, {"results", results}};
}

// (f) The determinism suite.

Json determinism(const Deadline& deadline) {
  Json backends = Json::array();
  bool complete = true, ours_hold = true;
  for (const char* name : {"cuda", "cublas"}) {
    if (deadline.passed()) {
      complete = false;
      break;
    }
    std::unique_ptr<Backend> backend;
    try {
      backend = open_cuda_backend(name);
    } catch (const Error& e) {
      complete = false;
      backends.push_back({{"backend", name}, {"error", e.what()}});
      continue;
    }
    CheckOptions options;
    options.quick = true;
    options.threads = {1};
    const CheckReport report = check(*backend, options);
    Json clauses = Json::array();
    for (const auto& r : report.results) {
      const char* verdict = r.verdict == ClauseResult::Verdict::holds ? "holds" : r.verdict == ClauseResult::Verdict::fails ? "fails" : "not applicable";
      clauses.push_back({{"clause", r.id}, {"verdict", verdict}, {"detail", r.detail}});
    }
    if (std::string(name) == "cuda") ours_hold = report.ok();
    backends.push_back({{"backend", name}, {"description", report.description}, {"clauses", clauses}});
    deadline.so_far({{"backends", backends}});
  }
  return {{"status", !ours_hold ? "failed" : complete ? "passed" : "incomplete"}, {"backends", backends}};
}

Json device_facts(const Deadline&) {
  const Device d = current_device();
  return {{"name", d.name}, {"architecture", d.architecture}, {"multiprocessors", d.multiprocessors}, {"shared_per_block", d.shared_per_block}};
}

struct Step {
  const char* name;
  int limit;  // seconds
  Json (*run)(const Deadline&);
};
constexpr Step device_step{"device", 20, device_facts};
constexpr Step steps[] = {{"kernels", 120, check_kernels}, {"origin_case", 60, origin_case}, {"tf32", 40, tf32_facts},
                          {"shapes", 80, other_shapes},    {"speed", 100, speed},            {"determinism", 60, determinism}};

// Runs the step in a child; its JSON comes through a pipe.
Json run_step(const Step& step) {
  int ends[2];
  if (pipe(ends) != 0) return {{"status", "failed"}, {"error", "pipe"}};
  const auto begin = Clock::now();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Json result;
    try {
      result = step.run(Deadline(step.limit - step.limit / 10, ends[1]));  // time is left to finish the last case and write
    } catch (const std::exception& e) {
      result = {{"status", "failed"}, {"error", e.what()}};
    }
    send(ends[1], result);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  bool timeout = child < 0;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(begin + std::chrono::seconds(step.limit) - Clock::now()).count();
    pollfd fd{ends[0], POLLIN, 0};
    if (left <= 0 || poll(&fd, 1, static_cast<int>(left)) == 0) {
      timeout = true;
      break;
    }
    char buffer[4096];
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (timeout && child > 0) kill(child, SIGKILL);
  int status = 0;
  // A process that waits inside the driver may survive SIGKILL for a while: it is left behind then.
  for (int i = 0; child > 0 && i < 50 && waitpid(child, &status, WNOHANG) == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Each line says more than those before; the last one has the status, if the step came to its end.
  Json result = Json::object();
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (line.is_object()) result.update(line);
  }
  if (timeout) {
    result["status"] = "timeout";
  } else if (text.empty() || status != 0) {
    result["status"] = "failed";
    result["error"] = WIFSIGNALED(status) ? fmt::format("the step was ended by signal {}", WTERMSIG(status)) : fmt::format("the step ended with status {}", status);
  }
  result["seconds"] = std::chrono::duration<double>(Clock::now() - begin).count();
  result["limit"] = step.limit;
  return result;
}

int main_program(int argc, char** argv) {
  std::string out = "samebits-gpucheck.json", only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--out" || argument == "--only") && i + 1 < argc) {
      (argument == "--out" ? out : only) = argv[++i];
    } else if (argument == "--quick") {
      quick = true;
    } else {
      fmt::print(stderr, "usage: samebits-gpucheck [--out FILE] [--only STEP,...] [--quick]\n--quick: small shapes and few cases\nsteps:");
      for (const Step& step : steps) fmt::print(stderr, " {}", step.name);
      fmt::print(stderr, "\n");
      return 2;
    }
  }
  Json report{{"schema", 1}, {"program", "samebits-gpucheck " SAMEBITS_VERSION}};
  const auto write = [&] {
    // Written aside and renamed: who is interrupted keeps the steps before.
    const std::string partial = out + ".part";
    std::ofstream file(partial);
    file << report.dump(2) << "\n";
    if (!file.flush() || std::rename(partial.c_str(), out.c_str()) != 0) fmt::print(stderr, "samebits-gpucheck: cannot write {}\n", out);
  };
  const Json device = run_step(device_step);
  if (device.contains("status")) {
    report["device"] = nullptr;
    report["reason"] = device.value("error", device.value("status", ""));
    write();
    fmt::print(stderr, "samebits-gpucheck: no GPU: {}\nNothing was measured; {} says so.\n", report["reason"].get<std::string>(), out);
    return 3;
  }
  report["device"] = device;
  fmt::print("{} (sm_{}, {} multiprocessors)\n", device["name"].get<std::string>(), device["architecture"].get<int>(), device["multiprocessors"].get<int>());
  report["steps"] = Json::object();
  bool passed = true;
  for (const Step& step : steps) {
    if (!only.empty() && ("," + only + ",").find(fmt::format(",{},", step.name)) == std::string::npos) continue;
    const Json result = run_step(step);
    const std::string status = result.value("status", "failed");
    passed &= status == "passed";
    fmt::print("{:12} {:10} {:6.1f} s of {}{}\n", step.name, status, result["seconds"].get<double>(), step.limit,
               result.contains("error") ? "  " + result["error"].get<std::string>() : "");
    std::fflush(stdout);
    report["steps"][step.name] = result;
    write();  // after each step: what was learnt stays
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace samebits::cuda

int main(int argc, char** argv) {
  try {
    return samebits::cuda::main_program(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "samebits-gpucheck: {}\n", e.what());
    return 2;
  }
}
