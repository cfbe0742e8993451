// SPDX-License-Identifier: Apache-2.0
#include "samebits/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cpu/blocking.h"
#include "cpu/pool.h"
#include "cpu/product.h"
#include "cpu/registry.h"
#include "gemm/arguments.h"
#include "reference/float_environment.h"
#include "reference/reference.h"

namespace samebits {

namespace {

// The elements of C that have one plain order: rows x cols.
template <class T>
struct Part {
  std::vector<Index> rows, cols;  // empty: all
  Order order;
  std::unique_ptr<cpu::Product<T>> product;  // null: the reference computes it
  std::string kernel;
};

const char* environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

int thread_count(int requested) {
  constexpr int most = 1024;
  if (requested < 0) throw Error(Code::invalid_argument, fmt::format("{} threads", requested));
  if (requested == 0) {
    const std::string_view text = environment("SAMEBITS_NUM_THREADS");
    if (text.empty()) return 1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), requested);
    if (error == std::errc::result_out_of_range && end == text.data() + text.size() && text[0] != '-') return most;
    if (error != std::errc() || end != text.data() + text.size() || requested < 1)
      throw Error(Code::invalid_argument, fmt::format("SAMEBITS_NUM_THREADS is \"{}\", not a count of threads", text));
  }
  return std::min(requested, most);
}

const char* why_reference(const Tree& tree) {
  switch (tree.main_op()) {
    case Op::mma:
      return "reference (mma)";
    case Op::exact:
      return "reference (exact)";
    default:
      return "reference (mixed precision)";
  }
}

template <class T>
Part<T> make_part(const Order& order, Index m, Index n, Index k, const std::string& isa) {
  Part<T> part{{}, {}, order, nullptr, "reference"};
  if (isa == "reference") return part;
  if (m == 0 || n == 0 || k == 0) {
    part.kernel = "reference (no products)";
    return part;
  }
  part.product = cpu::make_product<T>(order, m, n, k, isa);
  part.kernel = part.product ? part.product->kernel() : why_reference(order.tree(static_cast<std::size_t>(k)));
  return part;
}

// Indices 0 .. n-1 in classes of those that the same regions contain.
std::map<std::vector<bool>, std::vector<Index>> classes(const std::vector<Region>& regions, Range Region::*range, Index n) {
  std::map<std::vector<bool>, std::vector<Index>> result;
  std::vector<bool> in(regions.size());
  for (Index i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < regions.size(); ++r) in[r] = (regions[r].*range).contains(i);
    result[in].push_back(i);
  }
  return result;
}

template <class T>
std::vector<Part<T>> make_parts(const Order& order, Index m, Index n, Index k, const std::string& isa) {
  std::vector<Part<T>> parts;
  if (!order.has_regions()) {
    parts.push_back(make_part<T>(order, m, n, k, isa));
    return parts;
  }
  const std::vector<Region> regions = order.regions();
  const auto row_classes = classes(regions, &Region::rows, m), col_classes = classes(regions, &Region::cols, n);
  for (const auto& [in_rows, rows] : row_classes) {
    std::map<std::size_t, std::vector<Index>> cols_of;  // by region, the first that holds; regions.size() is the rest
    for (const auto& [in_cols, cols] : col_classes) {
      std::size_t r = 0;
      while (r < regions.size() && !(in_rows[r] && in_cols[r])) ++r;
      std::vector<Index>& all = cols_of[r];
      all.insert(all.end(), cols.begin(), cols.end());
    }
    for (auto& [r, cols] : cols_of) {
      std::ranges::sort(cols);
      parts.push_back(make_part<T>(r < regions.size() ? regions[r].order : order.rest(), Index(rows.size()),
                                   Index(cols.size()), k, isa));
      parts.back().rows = rows;
      parts.back().cols = std::move(cols);
    }
  }
  return parts;
}

// Rows `index` of x as a view, where they are evenly spaced.
template <class T>
std::optional<MatrixView<T>> spaced(MatrixView<T> x, const std::vector<Index>& index) {
  const Index step = index.size() > 1 ? index[1] - index[0] : 1;
  for (std::size_t i = 1; i < index.size(); ++i)
    if (index[i] - index[i - 1] != step) return std::nullopt;
  return MatrixView<T>{x.data + index[0] * x.row_stride, Index(index.size()), x.cols, x.row_stride * step, x.col_stride};
}

// Rows `index` of x; a copy in `storage` where they are not evenly spaced.
template <class T>
MatrixView<const T> select(MatrixView<const T> x, const std::vector<Index>& index, std::vector<T>& storage) {
  if (const auto view = spaced(x, index)) return *view;
  storage.resize(index.size() * x.cols);
  for (std::size_t i = 0; i < index.size(); ++i)
    for (Index j = 0; j < x.cols; ++j) storage[i * x.cols + j] = x(index[i], j);
  return row_major<const T>(storage.data(), Index(index.size()), x.cols);
}

template <class T>
void run_reference(const cpu::Call<T>& call, const Order& order, int threads) {
  const Index m = call.c.rows;
  const Bias<T> bias{call.bias.data, call.bias.col_stride};
  cpu::parallel(static_cast<int>(std::min<Index>(threads, m)), [&](int i) {
    const Index begin = m * i / std::min<Index>(threads, m), end = m * (i + 1) / std::min<Index>(threads, m);
    MatrixView<const T> a = call.a;
    MatrixView<T> c = call.c;
    a.data += begin * a.row_stride, c.data += begin * c.row_stride;
    a.rows = c.rows = end - begin;
    reference::gemm(call.alpha, a, call.b, call.beta, c, order, bias);
  });
}

template <class T>
void run_part(const cpu::Call<T>& call, const Part<T>& part, int threads) {
  if (part.product && call.alpha != 0 && call.a.cols != 0 && part.product->can_run(call.alpha, call.beta))
    part.product->run(call, threads);
  else
    run_reference(call, part.order, threads);
}

// Gathers the rows and columns of a part, computes, and scatters.
template <class T>
void run_selected(const cpu::Call<T>& call, const Part<T>& part, int threads) {
  static thread_local std::vector<T> a_copy, b_copy, bias_copy, c_copy;  // kept, as the workspace is
  cpu::Call<T> sub = call;
  sub.a = select(call.a, part.rows, a_copy);
  sub.b = select(call.b.transposed(), part.cols, b_copy).transposed();
  if (call.bias.data != nullptr) {
    sub.bias = select(call.bias.transposed(), part.cols, bias_copy).transposed();
    sub.bias.rows = Index(part.rows.size());
  }
  const auto rows = spaced(call.c, part.rows);
  const auto view = rows ? spaced(rows->transposed(), part.cols) : std::nullopt;
  if (view) {
    sub.c = view->transposed();
    return run_part(sub, part, threads);
  }
  c_copy.resize(part.rows.size() * part.cols.size());
  sub.c = row_major(c_copy.data(), Index(part.rows.size()), Index(part.cols.size()));
  const auto each = [&](auto&& f) {
    for (Index i = 0; i < sub.c.rows; ++i)
      for (Index j = 0; j < sub.c.cols; ++j) f(sub.c(i, j), call.c(part.rows[i], part.cols[j]));
  };
  if (call.beta != 0) each([](T& copy, T& c) { copy = c; });
  run_part(sub, part, threads);
  each([](T& copy, T& c) { c = copy; });
}

}  // namespace

template <class T>
struct Plan<T>::Impl {
  Index m, n, k;
  int threads;
  std::vector<Part<T>> parts;
  const cpu::Product<T>* small = nullptr;  // one part, one thread

  // The common case, told by a few comparisons; false is no judgement. B and C in rows, strides that go forward, C apart.
  bool is_plain(const MatrixView<const T>& a, const MatrixView<const T>& b, const MatrixView<T>& c) const {
    constexpr Index far = Index{1} << 31;
    const auto forward = [](Index stride) { return stride > 0 && stride < far; };
    if (c.rows != m || c.cols != n || a.rows != m || a.cols != k || b.rows != k || b.cols != n) return false;
    if (a.data == nullptr || b.data == nullptr || c.data == nullptr) return false;
    if (c.col_stride != 1 || b.col_stride != 1 || c.row_stride < n) return false;
    if (!forward(a.row_stride) || !forward(a.col_stride) || !forward(b.row_stride) || !forward(c.row_stride)) return false;
    const T *a_last = &a(m - 1, k - 1), *b_last = &b(k - 1, n - 1), *c_last = &c(m - 1, n - 1);
    const std::less<const T*> before;
    return (before(c_last, a.data) || before(a_last, c.data)) && (before(c_last, b.data) || before(b_last, c.data));
  }
};

template <class T>
Plan<T>::Plan(const Order& order, Index m, Index n, Index k, const Context& context) {
  if (m < 0 || n < 0 || k < 0) throw Error(Code::invalid_argument, fmt::format("negative size in {} x {} x {}", m, n, k));
  if (k > Index{0xffffffff}) throw Error(Code::invalid_argument, fmt::format("k = {} exceeds 2^32 - 1", k));
  if (order.is_profile()) throw Error(Code::unsupported, "a profile is an order for one call: resolve it first");
  order.check_shape(m, n);
  impl_ = std::make_unique<Impl>(
      Impl{m, n, k, thread_count(context.threads), make_parts<T>(order, m, n, k, cpu::resolve_isa(context.isa))});
  // What is not worth a second thread takes the shorter way of one.
  if (!order.has_regions() && impl_->parts[0].product &&
      double(m) * double(n) * double(k) < 2 * double(cpu::blocking().thread_work))
    impl_->threads = 1;
  constexpr Index most = Index{1} << 30;
  if (!order.has_regions() && impl_->threads == 1 && m < most && n < most && k < most)
    impl_->small = impl_->parts[0].product.get();
}
template <class T>
Plan<T>::~Plan() = default;
template <class T>
Plan<T>::Plan(Plan&&) noexcept = default;
template <class T>
Plan<T>& Plan<T>::operator=(Plan&&) noexcept = default;

template <class T>
void Plan<T>::run(T alpha, const MatrixView<const T>& a, const MatrixView<const T>& b, T beta, const MatrixView<T>& c,
                  const Bias<T>& bias) const {
  const Impl& plan = *impl_;
  if (plan.small && alpha == 1 && beta == 0 && bias.data == nullptr && plan.is_plain(a, b, c)) {
    const FloatEnvironment environment;
    if (plan.small->run_small(a, b, c)) return;
  }
  check_arguments(alpha, a, b, c, bias);
  if (c.rows != plan.m || c.cols != plan.n || a.cols != plan.k)
    throw Error(Code::invalid_argument, fmt::format("the plan is for {} x {} x {}, not {} x {} x {}", plan.m, plan.n, plan.k,
                                                    c.rows, c.cols, a.cols));
  if (plan.m == 0 || plan.n == 0) return;
  const FloatEnvironment environment;
  const cpu::Call<T> call{alpha, beta, a, b, c, {bias.data, c.rows, c.cols, 0, bias.stride}};
  for (const Part<T>& part : plan.parts) {
    if (part.rows.empty())
      run_part(call, part, plan.threads);
    else
      run_selected(call, part, plan.threads);
  }
}

template <class T>
std::string Plan<T>::kernel() const {
  std::string names;
  for (const Part<T>& part : impl_->parts) {
    if (names.find(part.kernel) != std::string::npos) continue;
    if (!names.empty()) names += ", ";
    names += part.kernel;
  }
  return names;
}

template class Plan<float>;
template class Plan<double>;

namespace {

// The plans that calls without one made last on this thread: most programs repeat a few shapes. Bounded in number and size.
template <class T>
class PlanCache {
 public:
  // Calls use(plan). A plan depends on nothing but the key, what the environment says now included.
  template <class Use>
  static void with(const Order& order, Index m, Index n, Index k, const Context& context, Use&& use) {
    const int threads = thread_count(context.threads);
    const std::string_view isa = context.isa.empty() ? environment("SAMEBITS_ISA") : std::string_view(context.isa);
    constexpr Index most = 1 << 14;  // a plan may need some 100 bytes for each k
    if (std::max({m, n, k}) > most || cpu::blocking_is_overridden()) return use(Plan<T>(order, m, n, k, context));
    static thread_local PlanCache cache;
    Entry& entry = cache.find(order, m, n, k, threads, isa);
    if (!entry.plan) {
      entry.plan.emplace(order, m, n, k, context);
      entry.order = order, entry.m = m, entry.n = n, entry.k = k, entry.threads = threads, entry.isa = isa;
    }
    use(*entry.plan);
  }

 private:
  struct Entry {
    Order order;  // equal where it is the same object
    Index m = 0, n = 0, k = 0;
    int threads = 0;
    std::string isa;
    std::optional<Plan<T>> plan;
  };

  // The entry of this key, or one without a plan.
  Entry& find(const Order& order, Index m, Index n, Index k, int threads, std::string_view isa) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& e = entries_[(last_ + i) % entries_.size()];
      if (e.plan && e.m == m && e.n == n && e.k == k && &e.order.node() == &order.node() && e.threads == threads &&
          e.isa == isa) {
        last_ = (last_ + i) % entries_.size();
        return e;
      }
    }
    last_ = (last_ + 1) % entries_.size();
    entries_[last_].plan.reset();
    return entries_[last_];
  }

  std::array<Entry, 8> entries_;
  std::size_t last_ = 0;
};

template <class T>
void batch(T alpha, MatrixView<const T> a, Index a_batch, MatrixView<const T> b, Index b_batch, T beta, MatrixView<T> c,
           Index c_batch, Index count, const Order& order, const Context& context) {
  check_arguments(alpha, a, b, c, Bias<T>{}, Batch{count, a_batch, b_batch, c_batch});
  PlanCache<T>::with(order, c.rows, c.cols, a.cols, context, [&](const Plan<T>& plan) {
    for (Index i = 0; i < count; ++i) {
      plan.run(alpha, a, b, beta, c);
      a.data += a_batch;
      b.data += b_batch;
      c.data += c_batch;
    }
  });
}

}  // namespace

void gemm(float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta, MatrixView<float> c,
          const Order& order, const Context& context, Bias<float> bias) {
  PlanCache<float>::with(order, c.rows, c.cols, a.cols, context,
                         [&](const Plan<float>& plan) { plan.run(alpha, a, b, beta, c, bias); });
}
void gemm(double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta, MatrixView<double> c,
          const Order& order, const Context& context, Bias<double> bias) {
  PlanCache<double>::with(order, c.rows, c.cols, a.cols, context,
                          [&](const Plan<double>& plan) { plan.run(alpha, a, b, beta, c, bias); });
}

void gemm_batch(float alpha, MatrixView<const float> a, Index a_batch, MatrixView<const float> b, Index b_batch, float beta,
                MatrixView<float> c, Index c_batch, Index count, const Order& order, const Context& context) {
  batch(alpha, a, a_batch, b, b_batch, beta, c, c_batch, count, order, context);
}
void gemm_batch(double alpha, MatrixView<const double> a, Index a_batch, MatrixView<const double> b, Index b_batch,
                double beta, MatrixView<double> c, Index c_batch, Index count, const Order& order, const Context& context) {
  batch(alpha, a, a_batch, b, b_batch, beta, c, c_batch, count, order, context);
}

std::vector<KernelInfo> kernels() {
  std::vector<KernelInfo> list = {{"reference", "reference", true, true}};
  for (const cpu::Isa& isa : cpu::isas())
    for (const char* type : {"s", "d"})
      for (const char* op : {"fma", "mul"}) {
        const cpu::Tile tile = *type == 's' ? isa.f32 : isa.f64;
        list.push_back({fmt::format("{}gemm_{}_{}x{}_{}", type, isa.name, tile.rows, tile.columns, op),
                        std::string(isa.name), isa.built, isa.supported});
      }
  return list;
}

}  // namespace samebits
