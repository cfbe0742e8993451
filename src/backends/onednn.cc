// SPDX-License-Identifier: Apache-2.0
// oneDNN's dnnl_sgemm: row-major, 64-bit integers, float32 only.
#include <fmt/format.h>

#include "backends/entries.h"
#include "backends/library.h"
#include "samebits/error.h"

namespace samebits::adapters {
namespace {

struct Version {  // dnnl_version_t, the part that all versions share
  int major, minor, patch;
};

class OneDnn final : public Backend {
 public:
  OneDnn(const Specification& s, Library library) : name_(s.text), library_(std::move(library)) {
    s.only("");
    gemm_ = library_.require<Gemm>("dnnl_sgemm");
    set_threads_ = library_.find<void(int)>("omp_set_num_threads");
  }
  std::string name() const override { return name_; }
  std::string description() const override {
    std::string text = "oneDNN";
    if (auto* version = library_.find<const Version*()>("dnnl_version"))
      text = fmt::format("oneDNN {}.{}.{}", version()->major, version()->minor, version()->patch);
    if (auto* isa = library_.find<int()>("dnnl_get_effective_cpu_isa")) text += fmt::format(", {}", isa_name(isa()));
    return fmt::format("{}, {}, threads {}", text, library_.path(),
                       set_threads_ ? "by omp_set_num_threads" : "not settable");
  }
  bool sets_threads() const override { return set_threads_ != nullptr; }
  bool supports(DType type) const override { return type == DType::f32; }

  void multiply(const BackendCall<float>& x) override {
    if (set_threads_ != nullptr) set_threads_(x.threads);
    const int status =
        gemm_(x.trans_a ? 'T' : 'N', x.trans_b ? 'T' : 'N', x.m, x.n, x.k, x.alpha, x.a, std::max<Index>(1, x.lda), x.b,
              std::max<Index>(1, x.ldb), x.beta, x.c, std::max<Index>(1, x.ldc));
    if (status != 0) throw Error(Code::backend, fmt::format("dnnl_sgemm returned status {}", status));
  }
  void multiply(const BackendCall<double>&) override {
    throw Error(Code::unsupported, "oneDNN has no double-precision gemm");
  }

 private:
  using Gemm = int(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t, const float*,
                   std::int64_t, float, float*, std::int64_t);

  // dnnl_cpu_isa_t: each instruction set has the bits of those it contains.
  static const char* isa_name(int isa) {
    return (isa & 0x27) == 0x27 ? "AVX-512" : (isa & 0x7) == 0x7 ? "AVX2" : (isa & 0x3) == 0x3 ? "AVX" : "SSE4.1";
  }

  std::string name_;
  Library library_;
  Gemm* gemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
};

}  // namespace

std::unique_ptr<Backend> open_onednn(const Specification& s) {
  if (!s.argument.empty()) return std::make_unique<OneDnn>(s, Library({s.argument}));
  return std::make_unique<OneDnn>(s, Library({"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so"}));
}

}  // namespace samebits::adapters
