// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "backends/entries.h"
#include "samebits/error.h"

#if __has_include("cuda/backends.h")
#include "cuda/backends.h"
#define SAMEBITS_CUDA_BACKENDS 1
#endif

namespace samebits {
namespace adapters {
namespace {

struct Entry {
  const char* name;
  const char* usage;  // how to write it when it needs an argument, else null: it is listed by opening it
  std::unique_ptr<Backend> (*open)(const Specification&);
};

#ifdef SAMEBITS_CUDA_BACKENDS
std::unique_ptr<Backend> open_cuda_entry(const Specification& s) {
  return cuda::open_cuda_backend(s.text);
}
#else
std::unique_ptr<Backend> open_cuda_entry(const Specification&) {
  throw Error(Code::backend, "this build has no CUDA part");
}
#endif

constexpr std::array entries{
    Entry{"samebits", nullptr, open_samebits},
    Entry{"naive", nullptr, open_naive},
    Entry{"openblas", nullptr, open_openblas},
    Entry{"onednn", nullptr, open_onednn},
    Entry{"eigen", nullptr, open_eigen},
    Entry{"cuda", nullptr, open_cuda_entry},
    Entry{"cublas", nullptr, open_cuda_entry},
    Entry{"cublaslt", nullptr, open_cuda_entry},
    Entry{"cblas", "cblas:PATH(prefix=, suffix=, int=32|64, style=cblas|fortran, entry=gemm|gemv|dot|numpy)", open_cblas},
    Entry{"onnxruntime", "onnxruntime:PATH(node=matmul|gemm, optimize=0..99)", open_onnxruntime},
    Entry{"command", "command:PROGRAM {a} {b} {c}, command(loop=yes):PROGRAM, command(timeout=SECONDS, ...):...",
          open_command},
};

class FunctionBackend final : public Backend {
 public:
  FunctionBackend(std::string name, std::function<void(const BackendCall<float>&)> f32,
                  std::function<void(const BackendCall<double>&)> f64)
      : name_(std::move(name)), f32_(std::move(f32)), f64_(std::move(f64)) {}
  std::string name() const override { return name_; }
  bool packs_constants() const override { return true; }  // who knows?
  std::string description() const override { return "a function of this program"; }
  bool supports(DType type) const override { return type == DType::f32 ? bool(f32_) : bool(f64_); }
  void multiply(const BackendCall<float>& call) override { invoke(f32_, call); }
  void multiply(const BackendCall<double>& call) override { invoke(f64_, call); }

 private:
  template <class F, class C>
  void invoke(const F& f, const C& call) const {
    if (!f) throw Error(Code::unsupported, name_ + " has no function for this type");
    f(call);
  }
  std::string name_;
  std::function<void(const BackendCall<float>&)> f32_;
  std::function<void(const BackendCall<double>&)> f64_;
};

}  // namespace
}  // namespace adapters

std::unique_ptr<Backend> open_backend(const std::string& text) {
  const auto specification = adapters::parse_specification(text);
  std::string names;
  for (const auto& entry : adapters::entries) {
    if (specification.name != entry.name) {
      names += (names.empty() ? "" : ", ") + std::string(entry.name);
      continue;
    }
    try {
      return entry.open(specification);
    } catch (const Error& e) {
      if (e.code() != Code::backend && e.code() != Code::unsupported) throw;
      throw Error(Code::backend, fmt::format("backend {} is not available: {}", specification.name, e.what()));
    }
  }
  throw Error(Code::syntax, fmt::format("no backend is called \"{}\"; there are {}", specification.name, names), 1);
}

std::unique_ptr<Backend> make_backend(std::string name, std::function<void(const BackendCall<float>&)> f32,
                                      std::function<void(const BackendCall<double>&)> f64) {
  return std::make_unique<adapters::FunctionBackend>(std::move(name), std::move(f32), std::move(f64));
}

std::vector<BackendInfo> backends() {
  std::vector<BackendInfo> list;
  for (const auto& entry : adapters::entries) {
    if (entry.usage != nullptr) {
      list.push_back({entry.name, true, entry.usage});
      continue;
    }
    try {
      list.push_back({entry.name, true, entry.open(adapters::parse_specification(entry.name))->description()});
    } catch (const std::exception& e) {
      list.push_back({entry.name, false, std::string("not available: ") + e.what()});
    }
  }
  return list;
}

}  // namespace samebits
