// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <utility>

#ifdef SAMEBITS_BENCH_LIBXSMM
#include <libxsmm.h>
#endif

// MKL asks this whether its Intel code may run; the program's own answer comes first. Without it MKL takes slower code on
// other makers' processors.
extern "C" __attribute__((visibility("default"))) int mkl_serv_intel_cpu_true() {
  return 1;
}

namespace bench {
namespace {

template <class F>
F symbol(void* library, const std::string& name) {
  return reinterpret_cast<F>(dlsym(library, name.c_str()));
}

// cblas_?gemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc); I: its integers.
template <class T, class I>
Multiply<T> cblas(void* library, const std::string& name) {
  using Function = void (*)(int, int, int, I, I, I, T, const T*, I, const T*, I, T, T*, I);
  const auto gemm = symbol<Function>(library, name);
  if (gemm == nullptr) return {};
  return [gemm](Index m, Index n, Index k, const T* a, const T* b, T* c) {
    gemm(101, 111, 111, I(m), I(n), I(k), T(1), a, I(k), b, I(n), T(0), c, I(n));
  };
}

// A library with CBLAS names; `prefix` and `suffix` around them.
template <class I>
void fill_cblas(Peer& peer, void* library, const std::string& prefix = "", const std::string& suffix = "") {
  peer.f32 = cblas<float, I>(library, prefix + "cblas_sgemm" + suffix);
  peer.f64 = cblas<double, I>(library, prefix + "cblas_dgemm" + suffix);
}

std::string call_string(void* library, const std::string& name) {
  const auto f = symbol<const char* (*)()>(library, name);
  return f != nullptr ? f() : "";
}

void fill_openblas(Peer& peer, void* library, const std::string& prefix, const std::string& suffix) {
  if (suffix == "64_")
    fill_cblas<std::int64_t>(peer, library, prefix, suffix);
  else
    fill_cblas<int>(peer, library, prefix, suffix);
  peer.detail = call_string(library, prefix + "openblas_get_config" + suffix) + ", core " +
                call_string(library, prefix + "openblas_get_corename" + suffix);
  if (const auto set = symbol<void (*)(int)>(library, prefix + "openblas_set_num_threads" + suffix)) peer.set_threads = set;
}

void fill_onednn(Peer& peer, void* library) {
  using Function =
      int (*)(char, char, Index, Index, Index, float, const float*, Index, const float*, Index, float, float*, Index);
  if (const auto gemm = symbol<Function>(library, "dnnl_sgemm"))
    peer.f32 = [gemm](Index m, Index n, Index k, const float* a, const float* b, float* c) {
      gemm('N', 'N', m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
    };
  struct Version {
    int major, minor, patch;
  };
  if (const auto version = symbol<const Version* (*)()>(library, "dnnl_version")) {
    const Version& v = *version();
    peer.detail = std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch);
  }
  if (const auto set = symbol<void (*)(int)>(RTLD_DEFAULT, "omp_set_num_threads"))
    peer.set_threads = set;
  else if (const auto own = symbol<void (*)(int)>(library, "omp_set_num_threads"))
    peer.set_threads = own;
}

#ifdef SAMEBITS_BENCH_LIBXSMM
Peer libxsmm() {
  Peer peer;
  peer.name = "libxsmm";
  peer.detail = LIBXSMM_VERSION;
  libxsmm_init();
  // Column-major: C^T = B^T A^T.
  peer.prepare_f32 = [](Index m, Index n, Index k) -> Multiply<float> {
    if (m * n * k > 128 * 128 * 128) return {};
    const int flags = LIBXSMM_GEMM_FLAG_NONE;
    const float one = 1, zero = 0;
    const auto kernel = libxsmm_smmdispatch(int(n), int(m), int(k), nullptr, nullptr, nullptr, &one, &zero, &flags, nullptr);
    if (kernel == nullptr) return {};
    return [kernel](Index, Index, Index, const float* a, const float* b, float* c) { kernel(b, a, c); };
  };
  peer.prepare_f64 = [](Index m, Index n, Index k) -> Multiply<double> {
    if (m * n * k > 128 * 128 * 128) return {};
    const int flags = LIBXSMM_GEMM_FLAG_NONE;
    const double one = 1, zero = 0;
    const auto kernel = libxsmm_dmmdispatch(int(n), int(m), int(k), nullptr, nullptr, nullptr, &one, &zero, &flags, nullptr);
    if (kernel == nullptr) return {};
    return [kernel](Index, Index, Index, const double* a, const double* b, double* c) { kernel(b, a, c); };
  };
  return peer;
}
#endif

}  // namespace

std::vector<Peer> load_peers(const std::vector<std::string>& files, std::vector<std::string>& missing) {
  std::vector<Peer> peers;
  std::vector<std::pair<std::string, std::string>> list = {
      {"openblas", "libopenblas.so.0"}, {"blis", "libblis.so.4"}, {"onednn", "libdnnl.so.2"}};
  for (const std::string& file : files) {
    const auto equals = file.find('=');
    if (equals != std::string::npos) list.emplace_back(file.substr(0, equals), file.substr(equals + 1));
  }
  for (const auto& [name, path] : list) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      missing.push_back(name + ": " + dlerror());
      continue;
    }
    Peer peer;
    peer.name = name;
    if (name == "onednn") {
      fill_onednn(peer, library);
    } else if (name == "blis") {
      fill_cblas<int>(peer, library);
      peer.detail = call_string(library, "bli_info_get_version_str");
      if (const auto set = symbol<void (*)(Index)>(library, "bli_thread_set_num_threads"))
        peer.set_threads = [set](int n) { set(n); };
    } else if (name == "mkl") {
      fill_cblas<int>(peer, library);
      if (const auto version = symbol<void (*)(char*, int)>(library, "mkl_get_version_string")) {
        char text[200] = {};
        version(text, sizeof text - 1);
        peer.detail = text;
        peer.detail.erase(peer.detail.find_last_not_of(' ') + 1);
        peer.detail += ", Intel dispatch";
      }
      if (const auto set = symbol<void (*)(int)>(library, "MKL_Set_Num_Threads")) peer.set_threads = set;
    } else if (dlsym(library, "scipy_cblas_sgemm") != nullptr) {
      fill_openblas(peer, library, "scipy_", "");
    } else if (dlsym(library, "scipy_cblas_sgemm64_") != nullptr) {
      fill_openblas(peer, library, "scipy_", "64_");
    } else {
      fill_openblas(peer, library, "", "");
    }
    if (peer.f32 || peer.f64)
      peers.push_back(std::move(peer));
    else
      missing.push_back(name + ": no gemm in " + path);
  }
#ifdef SAMEBITS_BENCH_LIBXSMM
  peers.push_back(libxsmm());
#else
  missing.push_back("libxsmm: not there when this program was built");
#endif
  return peers;
}

}  // namespace bench
