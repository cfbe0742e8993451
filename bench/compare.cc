// SPDX-License-Identifier: Apache-2.0
// A side-by-side table: samebits and other libraries, shape by shape, in rounds that take every library in turn, so that
// what the machine does meanwhile meets all alike. Times are medians over the rounds; one thread is timed by its own CPU
// clock. "cold": single calls, the operands flushed from all caches before each. Thin shapes: how fast the large operand
// is only read, in the same rounds, and how near to that the product comes.
#include <fmt/format.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "peers.h"
#include "samebits/gemm.h"

namespace bench {
namespace {

double seconds(bool own_cpu) {
  timespec t;
  clock_gettime(own_cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Options {
  int threads = 1, rounds = 9;
  double milliseconds = 10;  // of each library in each round, about
  bool f64 = false, cold = false;
  std::vector<std::string> shapes, orders = {"fma"}, peers, without;
  std::string isa, json;
};

struct Shape {
  Index m, n, k;
};

Shape parse_shape(const std::string& text) {
  Shape s{};
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &s.m, &s.n, &s.k) != 3) throw std::runtime_error("a shape is MxNxK: " + text);
  return s;
}

// Memory that starts at a cache line, each buffer at another place in its page: equal ones make loads wait for stores.
template <class T>
class Buffer {
 public:
  Buffer(Index n, Index line) : memory_(n + (4096 + 64 * line) / Index(sizeof(T)) + 64) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = reinterpret_cast<T*>((address + 4095) / 4096 * 4096 + 64 * line);
  }
  T* get() const { return data_; }

 private:
  std::vector<T> memory_;
  T* data_;
};

struct Entry {
  std::string name;
  std::function<void()> call;
  std::vector<double> times, cold;
  double median() const { return median(times); }
  static double median(std::vector<double> t) {
    std::ranges::sort(t);
    return t[t.size() / 2];
  }
};

void flush(const void* data, std::size_t bytes) {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < bytes; i += 64) _mm_clflush(static_cast<const char*>(data) + i);
  _mm_mfence();
#else
  static std::vector<char> other(std::size_t{1} << 28);  // larger than the caches
  for (std::size_t i = 0; i < other.size(); i += 64) ++other[i];
#endif
}

// Brings memory in as fast as it comes: one word of each cache line, in eight streams, which are faster than one.
void read_all(const void* data, std::size_t bytes, int threads) {
  constexpr std::size_t stream = 16384, streams = 8;
  static std::atomic<std::uint64_t> sink;
  const auto read = [=](std::size_t begin, std::size_t end) {
    const auto* p = static_cast<const char*>(data);
    std::uint64_t all = 0;
    for (; begin + streams * stream <= end; begin += streams * stream)
      for (std::size_t i = 0; i < stream; i += 64)
        for (std::size_t s = 0; s < streams; ++s) {
          std::uint64_t word;
          std::memcpy(&word, p + begin + s * stream + i, sizeof(word));
          all |= word;
        }
    sink.fetch_or(all);
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(read, bytes * t / threads, bytes * (t + 1) / threads);
  read(0, bytes / threads);
  for (std::thread& t : others) t.join();
}

// Small integers: every order gives the exact product, so every library must give the same values.
template <class T>
void fill(T* x, Index n, unsigned seed) {
  std::mt19937 random(seed);
  for (Index i = 0; i < n; ++i) x[i] = T(int(random() % 17) - 8);
}

template <class T>
nlohmann::json run(const Options& options, std::vector<Peer>& peers) {
  nlohmann::json rows = nlohmann::json::array();
  std::vector<std::string> names;
  for (const std::string& order : options.orders) names.push_back(options.orders.size() == 1 ? "samebits" : order);
  for (const Peer& peer : peers) names.push_back(peer.name);
  fmt::print("{:>18}", "GFLOP/s");
  for (const std::string& name : names) fmt::print(" {:>10}", name);
  fmt::print("   first/best other\n");
  std::map<std::string, std::vector<double>> ratios;

  for (const std::string& text : options.shapes) {
    const auto [m, n, k] = parse_shape(text);
    const Buffer<T> a(m * k, 0), b(k * n, 21), c(m * n, 43);
    fill(a.get(), m * k, 1), fill(b.get(), k * n, 2);
    // Freivalds' check, exact on integers: C x = A (B x) for a random x.
    const auto times = [](const T* matrix, Index rows, Index cols, const std::vector<double>& vector) {
      std::vector<double> y(rows);
      for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < cols; ++j) y[i] += double(matrix[i * cols + j]) * vector[j];
      return y;
    };
    std::mt19937 random(3);
    std::vector<double> x(n);
    for (double& value : x) value = double(random() % 2001) - 1000;
    const std::vector<double> expected = times(a.get(), m, k, times(b.get(), k, n, x));
    const auto check = [&](const std::string& name) {
      if (times(c.get(), m, n, x) != expected) throw std::runtime_error(fmt::format("{}: wrong result at {}", name, text));
    };

    std::vector<Entry> entries;
    std::vector<std::unique_ptr<samebits::Plan<T>>> plans;
    for (const std::string& order : options.orders) {
      plans.push_back(std::make_unique<samebits::Plan<T>>(
          samebits::Order::parse(order), m, n, k, samebits::Context{.threads = options.threads, .isa = options.isa}));
      const auto& plan = *plans.back();
      entries.push_back({options.orders.size() == 1 ? "samebits" : order,
                         [&plan, &a, &b, &c, m, n, k] {
                           plan.run(T(1), samebits::row_major<const T>(a.get(), m, k),
                                    samebits::row_major<const T>(b.get(), k, n), T(0), samebits::row_major(c.get(), m, n));
                         },
                         {},
                         {}});
    }
    for (const Peer& peer : peers) {
      Multiply<T> multiply;
      if constexpr (sizeof(T) == 4)
        multiply = peer.prepare_f32 ? peer.prepare_f32(m, n, k) : peer.f32;
      else
        multiply = peer.prepare_f64 ? peer.prepare_f64(m, n, k) : peer.f64;
      if (!multiply) continue;
      entries.push_back({peer.name, [=, &a, &b, &c] { multiply(m, n, k, a.get(), b.get(), c.get()); }, {}, {}});
    }

    // The operand that is read once: its size at least eight times that of what meets it.
    const Index large = std::max(m, n) * k, least = Index{1} << 24;
    const bool thin = std::min(m, n) <= 32 && large * Index(sizeof(T)) >= least;
    if (thin) {
      const T* const data = n >= m ? b.get() : a.get();
      entries.push_back({"read", [=, &options] { read_all(data, large * sizeof(T), options.threads); }, {}, {}});
    }

    const bool own_cpu = options.threads == 1;
    std::vector<Index> repetitions;
    for (Entry& e : entries) {
      std::fill_n(c.get(), m * n, std::numeric_limits<T>::quiet_NaN());
      if (options.threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(60));
      e.call();
      if (e.name != "read") check(e.name);
      const double start = seconds(own_cpu);
      Index count = 0;
      do {
        e.call();
        ++count;
      } while (seconds(own_cpu) - start < options.milliseconds * 1e-3 / 4);
      repetitions.push_back(std::max<Index>(1, count * 4));
    }
    for (int round = 0; round < options.rounds; ++round)
      for (std::size_t e = 0; e < entries.size(); ++e) {
        // The threads of the library before spin for a while: they must be asleep, or they take a core from the next. And
        // its own must be awake, each on a core.
        if (options.threads > 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(60));
          for (const double until = seconds(false) + 0.03; seconds(false) < until;) entries[e].call();
        }
        entries[e].call();  // its own code and buffers back into the caches
        const double start = seconds(own_cpu);
        for (Index r = 0; r < repetitions[e]; ++r) entries[e].call();
        entries[e].times.push_back((seconds(own_cpu) - start) / double(repetitions[e]));
        for (int i = 0; options.cold && i < 3; ++i) {
          flush(a.get(), m * k * sizeof(T)), flush(b.get(), k * n * sizeof(T)), flush(c.get(), m * n * sizeof(T));
          const double cold_start = seconds(false);  // the CPU clock costs a system call
          entries[e].call();
          entries[e].cold.push_back(seconds(false) - cold_start);
        }
      }

    const double flop = 2.0 * double(m) * double(n) * double(k);
    nlohmann::json row = {{"m", m}, {"n", n}, {"k", k}};
    double best_other = 0;
    fmt::print("{:>18}", text);
    for (const std::string& name : names) {
      const auto e = std::ranges::find(entries, name, &Entry::name);
      if (e == entries.end()) {
        fmt::print(" {:>10}", "-");
        continue;
      }
      const double gflops = flop / e->median() * 1e-9;
      row["seconds"][name] = e->median();
      row["all_seconds"][name] = e->times;
      if (options.cold) row["cold_seconds"][name] = Entry::median(e->cold);
      if (e != entries.begin()) best_other = std::max(best_other, gflops);
      fmt::print(" {:>10.{}f}", gflops, gflops < 10 ? 2 : 1);
    }
    const double own = flop / entries[0].median() * 1e-9;
    for (std::size_t e = 1; e < entries.size(); ++e)
      if (entries[e].name != "read") ratios[entries[e].name].push_back(entries[e].median() / entries[0].median());
    if (best_other > 0) {
      fmt::print("   {:.3f}", own / best_other);
      ratios["best other"].push_back(own / best_other);
      if (flop < 1e6) fmt::print("   {:.1f} ns", entries[0].median() * 1e9);
    }
    if (thin) {
      const double bytes = double(large) * sizeof(T), read = bytes / entries.back().median() * 1e-9;
      const double reached = bytes / entries[0].median() * 1e-9;
      row["read_bandwidth"] = read * 1e9;
      fmt::print("   {:.1f} of {:.1f} GB/s, {:.0f} %", reached, read, 100 * reached / read);
      entries.pop_back();
    }
    fmt::print("\n");
    if (options.cold) {
      fmt::print("{:>18}", "cold");
      double best = 0;
      for (const std::string& name : names) {
        const auto e = std::ranges::find(entries, name, &Entry::name);
        const double gflops = e == entries.end() ? 0 : flop / Entry::median(e->cold) * 1e-9;
        if (e != entries.begin()) best = std::max(best, gflops);
        e == entries.end() ? fmt::print(" {:>10}", "-") : fmt::print(" {:>10.{}f}", gflops, gflops < 10 ? 2 : 1);
      }
      if (best > 0) fmt::print("   {:.3f}", flop / Entry::median(entries[0].cold) * 1e-9 / best);
      fmt::print("\n");
    }
    std::fflush(stdout);
    rows.push_back(row);
  }
  fmt::print("geometric mean of the speed of {} over\n", names[0]);
  for (const auto& [name, values] : ratios) {
    double log_sum = 0;
    for (double r : values) log_sum += std::log(r);
    fmt::print("  {:<40} {:.3f}  (least {:.3f})\n", name, std::exp(log_sum / double(values.size())),
               *std::ranges::min_element(values));
  }
  return rows;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> first;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string key = line.substr(0, colon);
    key.erase(key.find_last_not_of(" \t") + 1);
    first.try_emplace(key, line.substr(std::min(line.size(), colon + 2)));
  }
  return fmt::format("{}, family {}, model {}", first["model name"], first["cpu family"], first["model"]);
}

}  // namespace

int main_program(int argc, char** argv) {
  // These choose OpenBLAS's kernels: a machine may have them set.
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  Options options;
  CLI::App app("Compares samebits with other libraries.");
  app.add_option("shapes", options.shapes, "MxNxK ...")->required();
  app.add_option("--threads", options.threads);
  app.add_option("--rounds", options.rounds);
  app.add_option("--milliseconds", options.milliseconds, "of each library in a round");
  app.add_flag("--f64", options.f64);
  app.add_flag("--cold", options.cold, "also with operands flushed from the caches");
  app.add_option("--order", options.orders, "one or more orders; the first is compared");
  app.add_option("--isa", options.isa);
  app.add_option("--peer", options.peers, "NAME=FILE of a further library: mkl, or any with CBLAS names");
  app.add_option("--without", options.without, "names of libraries to leave out, or \"all\"");
  app.add_option("--json", options.json, "file to write");
  CLI11_PARSE(app, argc, argv);

  std::vector<std::string> missing;
  std::vector<Peer> peers = load_peers(options.peers, missing);
  std::erase_if(peers, [&](const Peer& p) {
    return std::ranges::any_of(options.without, [&](const std::string& w) { return w == p.name || w == "all"; });
  });
  fmt::print("{}; {}; {} thread(s), {} rounds\n", cpu_model(), options.f64 ? "float64" : "float32", options.threads,
             options.rounds);
  nlohmann::json out = {{"cpu", cpu_model()}, {"type", options.f64 ? "f64" : "f32"}, {"threads", options.threads}};
  for (Peer& peer : peers) {
    fmt::print("  {}: {}\n", peer.name, peer.detail);
    out["peers"][peer.name] = peer.detail;
    if (peer.set_threads) peer.set_threads(options.threads);
  }
  for (const std::string& m : missing) fmt::print("  without {}\n", m);
  out["rows"] = options.f64 ? run<double>(options, peers) : run<float>(options, peers);
  if (!options.json.empty()) std::ofstream(options.json) << out.dump(1) << "\n";
  return 0;
}

}  // namespace bench

int main(int argc, char** argv) {
  try {
    return bench::main_program(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench: {}\n", error.what());
    return 2;
  }
}
