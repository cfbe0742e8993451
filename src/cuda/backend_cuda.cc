// SPDX-License-Identifier: Apache-2.0
// Our own kernels on host arrays.
#include <fmt/format.h>

#include "cuda/backends.h"
#include "cuda/device_memory.h"

namespace samebits::cuda {
namespace {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(Order order) : order_(std::move(order)), device_(current_device()) {}
  std::string name() const override { return "cuda"; }
  std::string description() const override {
    return fmt::format("samebits {} on {} (sm_{}, {} multiprocessors)", order_.text(), device_.name, device_.architecture, device_.multiprocessors);
  }
  void multiply(const BackendCall<float>& call) override { run(call); }
  void multiply(const BackendCall<double>& call) override { run(call); }

 private:
  // Rows of C are copied whole, so that what lies between them must come along too.
  template <class T>
  void run(const BackendCall<T>& call) const {
    const auto stored = [](const T* data, Index rows, Index cols, Index ld) {
      const Index elements = rows > 0 && cols > 0 ? (rows - 1) * ld + cols : 0;
      return elements > 0 && data ? DeviceMemory(data, static_cast<std::size_t>(elements) * sizeof(T)) : DeviceMemory();
    };
    const auto view = [](const DeviceMemory& memory, Index rows, Index cols, Index ld, bool transposed) {
      const MatrixView<const T> x{static_cast<const T*>(memory.data()), rows, cols, ld, 1};
      return transposed ? x.transposed() : x;
    };
    if (call.m == 0 || call.n == 0) return;
    const Index a_rows = call.trans_a ? call.k : call.m, b_rows = call.trans_b ? call.n : call.k;
    const Index a_cols = call.trans_a ? call.m : call.k, b_cols = call.trans_b ? call.k : call.n;
    const bool reads = call.alpha != 0;
    const DeviceMemory a = stored(reads ? call.a : nullptr, a_rows, a_cols, call.lda), b = stored(reads ? call.b : nullptr, b_rows, b_cols, call.ldb);
    const DeviceMemory c = stored(call.c, call.m, call.n, call.ldc);
    auto* result = static_cast<T*>(c.data());
    gemm(nullptr, call.alpha, view(a, a_rows, a_cols, call.lda, call.trans_a), view(b, b_rows, b_cols, call.ldb, call.trans_b), call.beta,
         MatrixView<T>{result, call.m, call.n, call.ldc, 1}, order_);
    copy_to_host(call.c, result, static_cast<std::size_t>((call.m - 1) * call.ldc + call.n) * sizeof(T));
  }

  Order order_;
  Device device_;
};

}  // namespace

const Memory device_space{allocate_on_device, release_on_device, copy_to_device, copy_to_host, require_device};

std::unique_ptr<Backend> open_cuda(const std::string& specification) {
  const std::string prefix = "cuda(order=";
  std::string order = "fma";
  if (specification.starts_with(prefix) && specification.back() == ')') {
    order = specification.substr(prefix.size(), specification.size() - prefix.size() - 1);
  } else if (specification != "cuda") {
    throw Error(Code::syntax, fmt::format("{}: expected cuda or cuda(order=ORDER)", specification), 5);
  }
  return std::make_unique<CudaBackend>(Order::parse(order));
}

std::unique_ptr<Backend> open_cublas(const std::string& specification) { return open_cublas_in(specification, device_space); }
std::unique_ptr<Backend> open_cublaslt(const std::string& specification) { return open_cublaslt_in(specification, device_space); }

std::unique_ptr<Backend> open_cuda_backend(const std::string& specification) {
  if (specification.starts_with("cublaslt")) return open_cublaslt(specification);
  if (specification.starts_with("cublas")) return open_cublas(specification);
  return open_cuda(specification);
}

}  // namespace samebits::cuda
