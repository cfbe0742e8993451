// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through its C API, loaded at run time. The API is a table of functions whose order never changes (entries are
// only appended); the entries used here exist since version 1.0 of the runtime.
#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/entries.h"
#include "backends/library.h"
#include "backends/onnx_model.h"
#include "samebits/error.h"

namespace samebits::adapters {
namespace {

struct Status;  // opaque types of the C API
struct Env;
struct SessionOptions;
struct OrtSession;
struct MemoryInfo;
struct Value;

struct ApiBase {
  void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

// Index in the table of functions, and the function's type.
template <int Index, class F>
struct Slot {
  void* const* table;
  template <class... Args>
  auto operator()(Args... args) const {
    return reinterpret_cast<F*>(table[Index])(args...);
  }
};

struct Api {
  explicit Api(void* const* t)
      : message{t},
        create_env{t},
        create_session{t},
        run{t},
        create_options{t},
        optimization{t},
        threads{t},
        inter_threads{t},
        tensor{t},
        cpu_memory{t},
        release_status{t},
        release_memory{t},
        release_session{t},
        release_value{t},
        release_options{t} {}
  Slot<2, const char*(const Status*)> message;
  Slot<3, Status*(int, const char*, Env**)> create_env;
  Slot<8, Status*(const Env*, const void*, std::size_t, const SessionOptions*, OrtSession**)> create_session;
  Slot<9, Status*(OrtSession*, const void*, const char* const*, const Value* const*, std::size_t, const char* const*,
                  std::size_t, Value**)>
      run;
  Slot<10, Status*(SessionOptions**)> create_options;
  Slot<23, Status*(SessionOptions*, int)> optimization;
  Slot<24, Status*(SessionOptions*, int)> threads;
  Slot<25, Status*(SessionOptions*, int)> inter_threads;
  Slot<49, Status*(const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t, int, Value**)> tensor;
  Slot<69, Status*(int, int, MemoryInfo**)> cpu_memory;
  Slot<93, void(Status*)> release_status;
  Slot<94, void(MemoryInfo*)> release_memory;
  Slot<95, void(OrtSession*)> release_session;
  Slot<96, void(Value*)> release_value;
  Slot<100, void(SessionOptions*)> release_options;
};

class OnnxRuntime final : public TypedBackend<OnnxRuntime> {
 public:
  OnnxRuntime(const Specification& s, Library library)
      : name_(s.text), library_(std::move(library)), node_(s.choice("node", "auto|matmul|gemm")) {
    s.only("node, optimize");
    const auto level = s.choice("optimize", "99|0|1|2");
    optimization_ = std::stoi(level);
    const auto* base = library_.require<const ApiBase*()>("OrtGetApiBase")();
    version_ = base->get_version();
    // Asking for version 1 of the table works with every runtime.
    void* const* table = base->get_api(1);
    if (table == nullptr) throw Error(Code::backend, library_.path() + " does not offer version 1 of its C API");
    api_ = std::make_unique<Api>(table);
    check(api_->create_env(3, "samebits", &env_));  // 3: errors only. The environment lives as long as the library.
    check(api_->cpu_memory(0, 0, &memory_));
  }
  ~OnnxRuntime() override {
    session_.reset();
    if (memory_ != nullptr) api_->release_memory(memory_);
  }
  std::string name() const override { return name_; }
  bool packs_constants() const override { return true; }
  std::string description() const override {
    return fmt::format("ONNX Runtime {}, {}, up to {} threads", version_, library_.path(),
                       std::thread::hardware_concurrency());
  }

  template <class T>
  void run(const BackendCall<T>& x) {
    const bool plain = !x.trans_a && !x.trans_b && x.alpha == 1 && x.beta == 0;
    if (node_ == "matmul" && !plain)
      throw Error(Code::unsupported, "a MatMul node has no transposes, alpha and beta: use node=gemm");
    const T alpha = x.alpha, beta = x.beta;
    if (static_cast<T>(static_cast<float>(alpha)) != alpha || static_cast<T>(static_cast<float>(beta)) != beta)
      throw Error(Code::unsupported, "a Gemm node has alpha and beta in float32");
    if (x.m == 0 || x.n == 0) return;
    // Tensors are dense: operands with gaps between rows are copied.
    std::vector<T> a_copy, b_copy, c_copy, c_in;
    const T* a = dense(x.a, x.trans_a ? x.k : x.m, x.trans_a ? x.m : x.k, x.lda, &a_copy);
    const Index b_rows = x.trans_b ? x.n : x.k, b_cols = x.trans_b ? x.k : x.n;
    const T* b = dense(x.b, b_rows, b_cols, x.ldb, &b_copy);
    const OnnxModel model{dtype_of<T>, x.m,       x.n,          x.k,         node_ == "gemm" || !plain,
                          x.trans_a,   x.trans_b, float(alpha), float(beta), x.constant_b ? b : nullptr};
    const auto session = find_session(model, x.threads);

    T* y = x.c;
    if (x.ldc != x.n) {
      c_copy.resize(static_cast<std::size_t>(x.m * x.n));
      y = c_copy.data();
    }
    std::vector<Value*> inputs;
    Value* output = nullptr;
    const Releaser release{api_.get(), &inputs, &output};
    std::vector<const char*> names{"a"};
    inputs.push_back(tensor(a, model.trans_a ? x.k : x.m, model.trans_a ? x.m : x.k));
    if (!x.constant_b) {
      names.push_back("b");
      inputs.push_back(tensor(b, b_rows, b_cols));
    }
    if (model.gemm && x.beta != 0) {
      for (Index i = 0; i < x.m; ++i) c_in.insert(c_in.end(), x.c + i * x.ldc, x.c + i * x.ldc + x.n);
      names.push_back("c");
      inputs.push_back(tensor(c_in.data(), x.m, x.n));
    }
    output = tensor(y, x.m, x.n);
    const char* const output_name = "y";
    check(api_->run(session->handle, nullptr, names.data(), inputs.data(), inputs.size(), &output_name, 1, &output));
    if (y != x.c)
      for (Index i = 0; i < x.m; ++i) std::memcpy(x.c + i * x.ldc, y + i * x.n, static_cast<std::size_t>(x.n) * sizeof(T));
  }

 private:
  struct Session {
    const Api* api = nullptr;
    OrtSession* handle = nullptr;
    std::string model;
    int threads = 0;
    ~Session() {
      if (handle != nullptr) api->release_session(handle);
    }
  };
  struct Releaser {
    const Api* api;
    std::vector<Value*>* inputs;
    Value** output;
    ~Releaser() {
      for (Value* v : *inputs) api->release_value(v);
      if (*output != nullptr) api->release_value(*output);
    }
  };

  void check(Status* status) const {
    if (status == nullptr) return;
    const std::string message = api_->message(status);
    api_->release_status(status);
    throw Error(Code::backend, "ONNX Runtime: " + message);
  }

  template <class T>
  static const T* dense(const T* x, Index rows, Index cols, Index ld, std::vector<T>* copy) {
    if (ld == cols || rows <= 1) return x;
    for (Index i = 0; i < rows; ++i) copy->insert(copy->end(), x + i * ld, x + i * ld + cols);
    return copy->data();
  }

  template <class T>
  Value* tensor(const T* data, Index rows, Index cols) const {
    const std::int64_t shape[2] = {rows, cols};
    Value* value = nullptr;
    check(api_->tensor(memory_, const_cast<T*>(data), static_cast<std::size_t>(rows * cols) * sizeof(T), shape, 2,
                       sizeof(T) == 4 ? 1 : 11, &value));
    return value;
  }

  // One session is kept; it is made anew when the model (with a constant B: its values) or the thread count changes.
  std::shared_ptr<Session> find_session(const OnnxModel& model, int threads) {
    auto bytes = onnx_model(model);
    const std::lock_guard lock(mutex_);
    if (session_ != nullptr && session_->threads == threads && session_->model == bytes) return session_;
    auto session = std::make_shared<Session>();
    session->api = api_.get();
    session->threads = threads;
    session->model = std::move(bytes);
    SessionOptions* options = nullptr;
    check(api_->create_options(&options));
    Status* status = api_->threads(options, threads);
    if (status == nullptr) status = api_->inter_threads(options, 1);
    if (status == nullptr) status = api_->optimization(options, optimization_);
    if (status == nullptr)
      status = api_->create_session(env_, session->model.data(), session->model.size(), options, &session->handle);
    api_->release_options(options);
    check(status);
    return session_ = session;
  }

  std::string name_;
  Library library_;
  std::string node_;
  int optimization_ = 99;
  std::string version_;
  std::unique_ptr<Api> api_;
  Env* env_ = nullptr;
  MemoryInfo* memory_ = nullptr;
  std::mutex mutex_;
  std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<Backend> open_onnxruntime(const Specification& s) {
  if (s.argument.empty())
    throw Error(Code::syntax, "onnxruntime needs the path of its library: onnxruntime:PATH/libonnxruntime.so");
  return std::make_unique<OnnxRuntime>(s, Library({s.argument}));
}

}  // namespace samebits::adapters
