// SPDX-License-Identifier: Apache-2.0
// cuBLAS and cuBLASLt, loaded at run time. The few declarations needed are repeated here, so that the headers of neither are;
// values as in cublas_api.h and cublasLt.h of CUDA 11 to 13.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda/backends.h"
#include "cuda/options.h"

namespace samebits::cuda {
namespace {

using Status = int;
using Handle = void*;

constexpr int op_n = 0, op_t = 1;
constexpr int math_default = 0, math_pedantic = 2, math_tf32 = 3;
constexpr int compute_32f = 68, compute_32f_pedantic = 69, compute_32f_tf32 = 77, compute_64f = 70, compute_64f_pedantic = 71;
constexpr int real_32f = 0, real_64f = 1;
constexpr int desc_trans_a = 3, desc_trans_b = 4, preference_workspace = 1;
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};

const char* words(Status status) {
  switch (status) {
    case 0: return "success";
    case 1: return "not initialized (no driver, or no device)";
    case 3: return "out of memory on the device";
    case 7: return "invalid value";
    case 8: return "architecture mismatch";
    case 13: return "execution failed";
    case 14: return "internal error";
    case 15: return "not supported";
    default: return "unknown status";
  }
}
void check(Status status, const char* function) {
  if (status != 0) throw Error(Code::backend, fmt::format("{}: {} (status {})", function, words(status), status));
}

class Library {
 public:
  Library(const std::string& given, const char* stem) {
    const std::vector<std::string> names = given.empty() ? std::vector<std::string>{fmt::format("{}.so.13", stem), fmt::format("{}.so.12", stem), fmt::format("{}.so.11", stem)}
                                                         : std::vector<std::string>{given};
    std::string reasons;
    for (const auto& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_) return;
      reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
    }
    throw Error(Code::backend, reasons);
  }
  template <class F>
  F* find(const char* symbol) const {
    void* address = dlsym(handle_, symbol);
    if (!address) throw Error(Code::backend, fmt::format("the library has no {}", symbol));
    return reinterpret_cast<F*>(address);
  }

 private:
  void* handle_;  // stays loaded: these libraries register exit handlers
};

enum class Mode { standard, tf32, pedantic };

struct Settings {
  Mode mode = Mode::standard;
  std::size_t workspace = 0;
  bool own_workspace = false;
  std::string library, mode_text = "default";

  explicit Settings(const std::string& specification) {
    for (const auto& [key, value] : parse_options(specification, "|mode|workspace|library|")) {
      if (key == "library") {
        library = value;
      } else if (key == "workspace") {
        char* end = nullptr;
        workspace = std::strtoull(value.c_str(), &end, 10);
        own_workspace = true;
        if (value.empty() || *end) throw Error(Code::syntax, fmt::format("workspace={}: expected a number of bytes", value));
      } else {
        mode_text = value;
        if (value == "tf32") {
          mode = Mode::tf32;
        } else if (value == "pedantic") {
          mode = Mode::pedantic;
        } else if (value != "default") {
          throw Error(Code::syntax, fmt::format("mode={}: expected default, tf32 or pedantic", value));
        }
      }
    }
  }
};

// Memory of the space, for one call.
class Buffer {
 public:
  Buffer(const Memory& memory, std::size_t bytes) : memory_(memory), data_(bytes > 0 ? memory.allocate(bytes) : nullptr) {}
  ~Buffer() {
    if (data_) memory_.release(data_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  const Memory& memory_;
  void* data_;
};

// Brings the operands over, lets Self::product(call, a, b, c) multiply and brings C back.
template <class Self>
class OnDevice : public Backend, public DeviceProduct {
 public:
  explicit OnDevice(const Memory& memory) : memory_(memory) {}
  void multiply(const BackendCall<float>& call) override { run(call); }
  void multiply(const BackendCall<double>& call) override { run(call); }
  void on_device(const BackendCall<float>& call) override { static_cast<Self*>(this)->product(call, call.a, call.b, call.c); }
  void on_device(const BackendCall<double>& call) override { static_cast<Self*>(this)->product(call, call.a, call.b, call.c); }

 protected:
  const Memory& memory_;

 private:
  template <class T>
  void run(const BackendCall<T>& call) {
    if (call.m == 0 || call.n == 0) return;
    const auto bytes = [](Index rows, Index cols, Index ld) { return rows > 0 && cols > 0 ? static_cast<std::size_t>((rows - 1) * ld + cols) * sizeof(T) : 0; };
    const std::size_t a_bytes = call.trans_a ? bytes(call.k, call.m, call.lda) : bytes(call.m, call.k, call.lda);
    const std::size_t b_bytes = call.trans_b ? bytes(call.n, call.k, call.ldb) : bytes(call.k, call.n, call.ldb);
    const std::size_t c_bytes = bytes(call.m, call.n, call.ldc);
    const Buffer a(memory_, a_bytes), b(memory_, b_bytes), c(memory_, c_bytes);
    if (a_bytes > 0) memory_.copy_in(a.data(), call.a, a_bytes);
    if (b_bytes > 0) memory_.copy_in(b.data(), call.b, b_bytes);
    memory_.copy_in(c.data(), call.c, c_bytes);
    static_cast<Self*>(this)->product(call, static_cast<const T*>(a.data()), static_cast<const T*>(b.data()), static_cast<T*>(c.data()));
    memory_.copy_out(call.c, c.data(), c_bytes);
  }
};

// Row-major C = op(A) op(B) is column-major C^T = op(B)^T op(A)^T: what row-major frameworks call with the operands swapped.
class Cublas final : public OnDevice<Cublas> {
 public:
  Cublas(const Settings& settings, const Memory& memory)
      : OnDevice(memory), settings_(settings), library_(settings.library, "libcublas"), workspace_(memory, prepare()) {
    if (settings_.own_workspace)
      check(library_.find<Status(Handle, void*, std::size_t)>("cublasSetWorkspace_v2")(handle_, workspace_.data(), settings_.workspace), "cublasSetWorkspace");
    const int math = settings_.mode == Mode::tf32 ? math_tf32 : settings_.mode == Mode::pedantic ? math_pedantic : math_default;
    check(library_.find<Status(Handle, int)>("cublasSetMathMode")(handle_, math), "cublasSetMathMode");
    check(library_.find<Status(Handle, int*)>("cublasGetVersion_v2")(handle_, &version_), "cublasGetVersion");
  }
  ~Cublas() override { destroy_(handle_); }

  std::string name() const override { return "cublas"; }
  std::string description() const override {
    return fmt::format("cuBLAS {}, mode {}{}", version_, settings_.mode_text, settings_.own_workspace ? fmt::format(", workspace {}", settings_.workspace) : "");
  }

  template <class T>
  void product(const BackendCall<T>& call, const T* a, const T* b, T* c) {
    using Gemm = Status(Handle, int, int, int, int, int, const T*, const T*, int, const T*, int, const T*, T*, int);
    const char* symbol = std::is_same_v<T, float> ? "cublasSgemm_v2" : "cublasDgemm_v2";
    check(library_.find<Gemm>(symbol)(handle_, call.trans_b ? op_t : op_n, call.trans_a ? op_t : op_n, static_cast<int>(call.n), static_cast<int>(call.m),
                                      static_cast<int>(call.k), &call.alpha, b, static_cast<int>(call.ldb), a, static_cast<int>(call.lda), &call.beta, c,
                                      static_cast<int>(call.ldc)),
          symbol);
  }

 private:
  // Creates the handle; returns the size of the workspace, which is made after the device is known to be there.
  std::size_t prepare() {
    const auto create = library_.find<Status(Handle*)>("cublasCreate_v2");
    destroy_ = library_.find<Status(Handle)>("cublasDestroy_v2");
    memory_.require();
    check(create(&handle_), "cublasCreate");
    return settings_.workspace;
  }

  Settings settings_;
  Library library_;
  Handle handle_ = nullptr;
  Status (*destroy_)(Handle) = nullptr;
  int version_ = 0;
  Buffer workspace_;
};

class CublasLt final : public OnDevice<CublasLt> {
 public:
  CublasLt(const Settings& settings, const Memory& memory)
      : OnDevice(memory), settings_(settings), library_(settings.library, "libcublasLt"), workspace_(memory, prepare()) {
    version_ = library_.find<std::size_t()>("cublasLtGetVersion")();
  }
  ~CublasLt() override { destroy_(handle_); }

  std::string name() const override { return "cublaslt"; }
  std::string description() const override {
    return fmt::format("cuBLASLt {}, mode {}, workspace {}{}", version_, settings_.mode_text, settings_.workspace, algorithm_);
  }

  template <class T>
  void product(const BackendCall<T>& call, const T* a, const T* b, T* c) {
    const bool single = std::is_same_v<T, float>;
    const int type = single ? real_32f : real_64f;
    const int compute = !single ? (settings_.mode == Mode::pedantic ? compute_64f_pedantic : compute_64f)
                        : settings_.mode == Mode::tf32 ? compute_32f_tf32
                        : settings_.mode == Mode::pedantic ? compute_32f_pedantic
                                                           : compute_32f;
    const Object operation(library_, "cublasLtMatmulDescDestroy", [&](void** p) {
      return library_.find<Status(void**, int, int)>("cublasLtMatmulDescCreate")(p, compute, type);
    });
    const auto set = library_.find<Status(void*, int, const void*, std::size_t)>("cublasLtMatmulDescSetAttribute");
    const int first = call.trans_b ? op_t : op_n, second = call.trans_a ? op_t : op_n;
    check(set(operation.get(), desc_trans_a, &first, sizeof first), "cublasLtMatmulDescSetAttribute");
    check(set(operation.get(), desc_trans_b, &second, sizeof second), "cublasLtMatmulDescSetAttribute");
    const auto layout = [&](Index rows, Index cols, Index ld) {  // of a column-major matrix
      return Object(library_, "cublasLtMatrixLayoutDestroy", [&](void** p) {
        return library_.find<Status(void**, int, std::uint64_t, std::uint64_t, std::int64_t)>("cublasLtMatrixLayoutCreate")(
            p, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols), ld);
      });
    };
    const Object layout_b = call.trans_b ? layout(call.k, call.n, call.ldb) : layout(call.n, call.k, call.ldb);
    const Object layout_a = call.trans_a ? layout(call.m, call.k, call.lda) : layout(call.k, call.m, call.lda);
    const Object layout_c = layout(call.n, call.m, call.ldc);
    const Object preference(library_, "cublasLtMatmulPreferenceDestroy",
                            [&](void** p) { return library_.find<Status(void**)>("cublasLtMatmulPreferenceCreate")(p); });
    check(library_.find<Status(void*, int, const void*, std::size_t)>("cublasLtMatmulPreferenceSetAttribute")(preference.get(), preference_workspace,
                                                                                                              &settings_.workspace, sizeof(std::size_t)),
          "cublasLtMatmulPreferenceSetAttribute");
    Heuristic found{};
    int count = 0;
    check(library_.find<Status(Handle, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*)>("cublasLtMatmulAlgoGetHeuristic")(
              handle_, operation.get(), layout_b.get(), layout_a.get(), layout_c.get(), layout_c.get(), preference.get(), 1, &found, &count),
          "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) throw Error(Code::backend, "cublasLtMatmulAlgoGetHeuristic: no algorithm for this product");
    algorithm_ = describe(found.algorithm);
    check(library_.find<Status(Handle, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*, void*, void*,
                               const Algorithm*, void*, std::size_t, void*)>("cublasLtMatmul")(
              handle_, operation.get(), &call.alpha, b, layout_b.get(), a, layout_a.get(), &call.beta, c, layout_c.get(), c, layout_c.get(),
              &found.algorithm, workspace_.data(), settings_.workspace, nullptr),
          "cublasLtMatmul");
  }

 private:
  class Object {
   public:
    template <class Create>
    Object(const Library& library, const char* destroy, const Create& create) : destroy_(library.find<Status(void*)>(destroy)) {
      check(create(&object_), destroy);
    }
    Object(Object&& other) noexcept : destroy_(other.destroy_), object_(std::exchange(other.object_, nullptr)) {}
    ~Object() {
      if (object_) destroy_(object_);
    }
    void* get() const { return object_; }

   private:
    Status (*destroy_)(void*);
    void* object_ = nullptr;
  };

  std::string describe(const Algorithm& algorithm) const {
    const auto get = library_.find<Status(const Algorithm*, int, void*, std::size_t, std::size_t*)>("cublasLtMatmulAlgoConfigGetAttribute");
    std::string text = "; last algorithm:";
    constexpr const char* names[] = {"id", "tile", "split-k", "reduction", "swizzle", "option", "stages"};
    for (int i = 0; i < static_cast<int>(std::size(names)); ++i) {
      std::int32_t value = 0;
      std::size_t written = 0;
      if (get(&algorithm, i, &value, sizeof value, &written) == 0) text += fmt::format(" {} {}", names[i], value);
    }
    return text;
  }

  std::size_t prepare() {
    const auto create = library_.find<Status(Handle*)>("cublasLtCreate");
    destroy_ = library_.find<Status(Handle)>("cublasLtDestroy");
    memory_.require();
    check(create(&handle_), "cublasLtCreate");
    return settings_.workspace;
  }

  Settings settings_;
  Library library_;
  Handle handle_ = nullptr;
  Status (*destroy_)(Handle) = nullptr;
  std::size_t version_ = 0;
  std::string algorithm_;
  Buffer workspace_;
};

}  // namespace

std::unique_ptr<DeviceProduct> open_cublas_on_device(const std::string& specification) {
  return std::make_unique<Cublas>(Settings(specification), device_space);
}
std::unique_ptr<Backend> open_cublas_in(const std::string& specification, const Memory& memory) {
  return std::make_unique<Cublas>(Settings(specification), memory);
}
std::unique_ptr<Backend> open_cublaslt_in(const std::string& specification, const Memory& memory) {
  return std::make_unique<CublasLt>(Settings(specification), memory);
}

}  // namespace samebits::cuda
