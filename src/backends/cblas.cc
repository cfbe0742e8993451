// SPDX-License-Identifier: Apache-2.0
// Any BLAS library, by CBLAS or Fortran symbols, with 32- or 64-bit integers, and OpenBLAS by name.
#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>

#include "backends/entries.h"
#include "backends/library.h"
#include "samebits/error.h"

namespace samebits::adapters {
namespace {

constexpr int row_major_order = 101, col_major_order = 102, no_trans = 111, trans = 112;

template <class T, class I>
struct Symbols {
  using Gemm = void(int, int, int, I, I, I, T, const T*, I, const T*, I, T, T*, I);
  using Gemv = void(int, int, I, I, T, const T*, I, const T*, I, T, T*, I);
  using Dot = T(I, const T*, I, const T*, I);
  using Fortran = void(const char*, const char*, const I*, const I*, const I*, const T*, const T*, const I*, const T*,
                       const I*, const T*, T*, const I*);
};

enum class Entry { gemm, gemv, dot, loop };

// What NumPy's matmul calls for operands that BLAS can take (its own loop for outer products and empty ones).
template <class T>
Entry numpy_entry(const BackendCall<T>& x) {
  if (x.m == 0 || x.n == 0 || x.k == 0) return Entry::loop;
  if (x.m == 1 && x.n == 1) return Entry::dot;
  if (x.k == 1 && (x.m == 1 || x.n == 1)) return Entry::loop;
  if (x.m == 1 || x.n == 1) return Entry::gemv;
  return Entry::gemm;
}

class Cblas final : public TypedBackend<Cblas> {
 public:
  Cblas(const Specification& s, Library library)
      : name_(s.text),
        library_(std::move(library)),
        prefix_(s.option("prefix", "")),
        suffix_(s.option("suffix", "")),
        wide_(s.choice("int", suffix_.find("64_") != std::string::npos ? "64|32" : "32|64") == "64"),
        entry_(s.choice("entry", "gemm|gemv|dot|numpy")) {
    s.only("prefix, suffix, int, style, entry");
    const auto style = s.option("style", "");
    if (!style.empty()) s.choice("style", "cblas|fortran");
    const bool has_cblas = library_.find<void()>(symbol("cblas_sgemm")) != nullptr;
    if (style == "cblas" || (style.empty() && has_cblas)) {
      library_.require<void()>(symbol("cblas_sgemm"));
    } else if (library_.find<void()>(symbol("sgemm_")) != nullptr || style == "fortran") {
      fortran_ = true;
      library_.require<void()>(symbol("sgemm_"));
      if (entry_ != "gemm")
        throw Error(Code::backend, library_.path() + " has Fortran symbols only: entry=gemm is all there is");
    } else {
      throw Error(Code::backend, fmt::format("{} has neither {} nor {}; try prefix= and suffix=", library_.path(),
                                             symbol("cblas_sgemm"), symbol("sgemm_")));
    }
    find_threads();
  }

  std::string name() const override { return name_; }
  bool sets_threads() const override { return !threads_name_.empty(); }

  std::string description() const override {
    std::string text;
    if (auto* config = find_any<const char*()>("openblas_get_config")) {
      const std::string words = config();
      text = words.substr(0, words.find(' ', words.find(' ') + 1));
      if (auto* core = find_any<const char*()>("openblas_get_corename")) text += fmt::format(", core {}", core());
    } else if (auto* blis = library_.find<const char*()>("bli_info_get_version_str")) {
      text = fmt::format("BLIS {}", blis());
      if (auto* arch = library_.find<const char*(int)>("bli_arch_string"))
        if (auto* id = library_.find<int()>("bli_arch_query_id")) text += fmt::format(", {}", arch(id()));
    } else if (auto* mkl = library_.find<void(char*, int)>("mkl_get_version_string")) {
      char words[256] = {};
      mkl(words, sizeof(words) - 1);
      text = words;
      text.erase(text.find_last_not_of(' ') + 1);
    } else {
      text = "BLAS";
    }
    return fmt::format("{}, {}, {}-bit integers, threads {}", text, library_.path(), wide_ ? 64 : 32,
                       threads_name_.empty() ? "not settable" : "by " + threads_name_);
  }

  template <class T>
  void run(const BackendCall<T>& x) {
    set_threads(x.threads);
    if (wide_)
      dispatch<T, std::int64_t>(x);
    else
      dispatch<T, std::int32_t>(x);
  }

 private:
  std::string symbol(const std::string& plain) const { return prefix_ + plain + suffix_; }

  // Library functions beside the BLAS itself come with the prefix, the suffix, both or neither.
  template <class F>
  F* find_any(const std::string& plain) const {
    for (const auto& name :
         {symbol(plain), prefix_ + plain, plain + suffix_, plain, "scipy_" + plain, "scipy_" + plain + "64_"})
      if (auto* f = library_.find<F>(name)) return f;
    return nullptr;
  }

  void find_threads() {
    for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads", "omp_set_num_threads"})
      if (auto* f = find_any<void(int)>(name); f != nullptr && threads_name_.empty()) {
        if (std::strcmp(name, "omp_set_num_threads") == 0) {
          if (auto* blis = library_.find<void(std::int64_t)>("bli_thread_set_num_threads")) {
            set_threads_wide_ = blis;
            threads_name_ = "bli_thread_set_num_threads";
            return;
          }
        }
        set_threads_ = f;
        threads_name_ = name;
      }
  }

  void set_threads(int threads) {
    if (threads_ == threads || threads_name_.empty()) return;
    const std::lock_guard lock(mutex_);
    if (threads_ == threads) return;
    if (set_threads_ != nullptr)
      set_threads_(threads);
    else
      set_threads_wide_(threads);
    threads_ = threads;
  }

  template <class I>
  static I narrow(Index x) {
    if (x > std::numeric_limits<I>::max())
      throw Error(Code::backend, fmt::format("{} does not fit this library's 32-bit integers", x));
    return static_cast<I>(x);
  }

  template <class T, class I>
  void dispatch(const BackendCall<T>& x) const {
    const char letter = sizeof(T) == 4 ? 's' : 'd';
    const I m = narrow<I>(x.m), n = narrow<I>(x.n), k = narrow<I>(x.k);
    const I lda = narrow<I>(std::max<Index>(1, x.lda)), ldb = narrow<I>(std::max<Index>(1, x.ldb));
    const I ldc = narrow<I>(std::max<Index>(1, x.ldc));
    if (fortran_) {  // column-major: C' = B' A'
      const char ta = x.trans_a ? 'T' : 'N', tb = x.trans_b ? 'T' : 'N';
      library_.require<typename Symbols<T, I>::Fortran>(symbol(fmt::format("{}gemm_", letter)))(
          &tb, &ta, &n, &m, &k, &x.alpha, x.b, &ldb, x.a, &lda, &x.beta, x.c, &ldc);
      return;
    }
    switch (entry(x)) {
      case Entry::gemm:
        library_.require<typename Symbols<T, I>::Gemm>(symbol(fmt::format("cblas_{}gemm", letter)))(
            row_major_order, x.trans_a ? trans : no_trans, x.trans_b ? trans : no_trans, m, n, k, x.alpha, x.a, lda, x.b,
            ldb, x.beta, x.c, ldc);
        return;
      case Entry::gemv: {
        auto* gemv = library_.require<typename Symbols<T, I>::Gemv>(symbol(fmt::format("cblas_{}gemv", letter)));
        // NumPy always passes Trans: the matrix as k x outputs, column-major where k is contiguous.
        if (x.n == 1)
          gemv(x.trans_a ? row_major_order : col_major_order, trans, k, m, x.alpha, x.a, lda, x.b, x.trans_b ? 1 : ldb,
               x.beta, x.c, ldc);
        else
          gemv(x.trans_b ? col_major_order : row_major_order, trans, k, n, x.alpha, x.b, ldb, x.a, x.trans_a ? lda : 1,
               x.beta, x.c, 1);
        return;
      }
      case Entry::dot: {
        auto* dot = library_.require<typename Symbols<T, I>::Dot>(symbol(fmt::format("cblas_{}dot", letter)));
        scale(x, dot(k, x.a, x.trans_a ? lda : 1, x.b, x.trans_b ? 1 : ldb), x.c);
        return;
      }
      case Entry::loop:
        for (Index i = 0; i < x.m; ++i)
          for (Index j = 0; j < x.n; ++j) {
            T sum = 0;
            for (Index p = 0; p < x.k; ++p)
              sum += (x.trans_a ? x.a[p * x.lda + i] : x.a[i * x.lda + p]) *
                     (x.trans_b ? x.b[j * x.ldb + p] : x.b[p * x.ldb + j]);
            scale(x, sum, x.c + i * x.ldc + j);
          }
    }
  }

  template <class T>
  Entry entry(const BackendCall<T>& x) const {
    if (entry_ == "gemm") return Entry::gemm;
    if (entry_ == "numpy") return numpy_entry(x);
    const bool dot = entry_ == "dot";
    if (dot ? x.m != 1 || x.n != 1 : x.m != 1 && x.n != 1)
      throw Error(Code::backend, fmt::format("entry={} needs {}, the product is {} x {} x {}", entry_,
                                             dot ? "M = N = 1" : "M = 1 or N = 1", x.m, x.n, x.k));
    return dot ? Entry::dot : Entry::gemv;
  }

  template <class T>
  static void scale(const BackendCall<T>& x, T sum, T* c) {
    if (x.alpha != 1) sum = x.alpha * sum;
    *c = x.beta == 0 ? sum : sum + (x.beta == 1 ? *c : x.beta * *c);
  }

  std::string name_;
  Library library_;
  std::string prefix_, suffix_;
  bool wide_, fortran_ = false;
  std::string entry_;
  void (*set_threads_)(int) = nullptr;
  void (*set_threads_wide_)(std::int64_t) = nullptr;
  std::string threads_name_;
  std::mutex mutex_;
  std::atomic<int> threads_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_cblas(const Specification& s) {
  if (s.argument.empty()) throw Error(Code::syntax, "cblas needs the path of a library: cblas:PATH");
  return std::make_unique<Cblas>(s, Library({s.argument}));
}

std::unique_ptr<Backend> open_openblas(const Specification& s) {
  if (!s.argument.empty()) return open_cblas(s);
  // The alternatives system may hide the library behind libblas.so.3; the directory of the threaded build is tried as well.
  return std::make_unique<Cblas>(
      s, Library({"libopenblas.so.0", "libopenblas.so", "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0"}));
}

}  // namespace samebits::adapters
