// SPDX-License-Identifier: Apache-2.0
#include "explain/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "explain/bound.h"
#include "explain/compare.h"
#include "reference/reference.h"

namespace samebits::explain {
namespace {

// Elements of a problem with their operands gathered.
template <class T>
class Elements {
 public:
  Elements(const Problem<T>& problem, Format out) : problem_(problem), a_(problem.k()), b_(problem.k()) {
    if (out != Format::none) rounded_ = Order::parse(out == Format::fp16 ? "out(fp16) > fma" : "out(bf16) > fma");
  }

  const Element<T>& operator()(const Place& p) {
    for (Index i = 0; i < problem_.k(); ++i) {
      a_[i] = problem_.a[p.item](p.i, i);
      b_[i] = problem_.b[p.item](i, p.j);
    }
    element_ = {a_.data(), b_.data(), a_.size(), {}};
    if (!problem_.c.empty()) element_.scale.beta = 1, element_.scale.c = problem_.c[p.item](p.i, p.j);
    return element_;
  }
  // In the precision of the problem's type; NaN and Inf only where they must be.
  bool inside(const Place& p, T value) {
    const auto& e = (*this)(p);
    if (!rounded_) return within(dtype_of<T> == DType::f32 ? Precision::f32 : Precision::f64, e, value);
    return std::fabs(exact_error(e, value)) <= error_bound(*rounded_, e);
  }

 private:
  const Problem<T>& problem_;
  std::optional<Order> rounded_;
  std::vector<T> a_, b_;
  Element<T> element_;
};

// The elements to be judged: all, or at most this much work.
std::vector<Index> judged(Index elements, Index k) {
  const Index most = std::max<Index>(256, 40'000'000 / std::max<Index>(1, k));
  const Index step = (elements + most - 1) / most;
  std::vector<Index> list;
  for (Index e = 0; e < elements; e += step) list.push_back(e);
  return list;
}

std::string at(const Place& p, Index batch) {
  return batch > 1 ? fmt::format("({}, {}, {})", p.item, p.i, p.j) : fmt::format("({}, {})", p.i, p.j);
}

template <class T>
Problem<T> without_k(const Problem<T>& problem, Index k0, Index count, std::vector<std::vector<T>>& storage) {
  Problem<T> p = problem;
  const Index k = problem.k() - count;
  for (Index item = 0; item < p.batch(); ++item) {
    auto& a = p.a[item];
    auto& b = p.b[item];
    std::vector<T> x, y;
    for (Index i = 0; i < a.rows; ++i)
      for (Index q = 0; q < a.cols; ++q)
        if (q < k0 || q >= k0 + count) x.push_back(a(i, q));
    for (Index q = 0; q < b.rows; ++q)
      for (Index j = 0; j < b.cols; ++j)
        if (q < k0 || q >= k0 + count) y.push_back(b(q, j));
    const Index m = a.rows, n = b.cols;
    storage.push_back(std::move(x));
    a = row_major<const T>(storage.back().data(), m, k);
    storage.push_back(std::move(y));
    b = row_major<const T>(storage.back().data(), k, n);
  }
  p.a_shape.clear();
  p.b_shape.clear();
  return p;
}

// A changed problem under which every element that is looked at lies inside the bound.
template <class T>
struct Cause {
  std::string what;
  Problem<T> problem;
};

template <class T>
class Causes {
 public:
  // `sample` holds some of `outside`, the elements outside the bound, and some others.
  Causes(const Problem<T>& problem, const Side<T>& side, std::vector<Index> sample, const std::vector<Index>& outside)
      : problem_(problem), side_(side), sample_(std::move(sample)), outside_(outside) {}

  std::optional<Cause<T>> find() {
    if (problem_.n() == problem_.k()) {
      Problem<T> p = problem_;
      for (auto& b : p.b) b = b.transposed();
      p.trans_b = !p.trans_b;
      if (holds(p)) return Cause<T>{"B was taken transposed", p};
    }
    if (problem_.m() == problem_.k()) {
      Problem<T> p = problem_;
      for (auto& a : p.a) a = a.transposed();
      p.trans_a = !p.trans_a;
      if (holds(p)) return Cause<T>{"A was taken transposed", p};
    }
    if (!problem_.c.empty()) {
      Problem<T> p = problem_;
      p.c.clear();
      if (holds(p)) return Cause<T>{"c was not added", p};
    }
    if (auto k = dropped()) return k;
    for (const Index shift : {1, -1})
      for (const bool rows : {true, false})
        if (shifted(shift, rows))
          return Cause<T>{
              fmt::format("{} i holds what {} i{:+} should", rows ? "row" : "column", rows ? "row" : "column", shift), {}};
    for (const auto& what : {zero(), transposed(), factor(), moved(true), moved(false), constant(true), constant(false)})
      if (!what.empty()) return Cause<T>{what, {}};
    return std::nullopt;
  }

 private:
  bool holds(const Problem<T>& p) {
    Elements<T> elements(p, side_.format);
    return std::ranges::all_of(sample_, [&](Index e) { return elements.inside(place(problem_, e), side_.values[e]); });
  }

  // A product, or the last few, that every element lacks.
  std::optional<Cause<T>> dropped() {
    const Index k = problem_.k();
    Elements<T> elements(problem_, side_.format);
    // The element with the greatest error says which.
    Index worst = -1;
    double error = 0;
    for (Index e : sample_) {
      const double here = std::fabs(exact_error(elements(place(problem_, e)), side_.values[e]));
      if (here > error) error = here, worst = e;
    }
    if (worst < 0 || !std::isfinite(error)) return std::nullopt;
    const auto& e = elements(place(problem_, worst));
    const double missing = -exact_error(e, side_.values[worst]);
    std::vector<std::pair<Index, Index>> tried;
    double tail = 0;
    for (Index count = 1; count <= std::min<Index>(k - 1, 16); ++count) {
      tail += static_cast<double>(e.a[k - count]) * static_cast<double>(e.b[k - count]);
      if (close(tail, -missing, error)) tried.emplace_back(k - count, count);
    }
    for (Index q = 0; q < k && tried.size() < 8; ++q)
      if (close(static_cast<double>(e.a[q]) * static_cast<double>(e.b[q]), -missing, error)) tried.emplace_back(q, 1);
    for (const auto& [from, count] : tried) {
      storage_.clear();
      Problem<T> p = without_k(problem_, from, count, storage_);
      if (k > 1 && holds(p))
        return Cause<T>{count == 1 ? fmt::format("product k = {} was left out{}", from, from == k - 1 ? " (the last)" : "")
                                   : fmt::format("the last {} products were left out", count),
                        p};
    }
    return std::nullopt;
  }
  static bool close(double x, double y, double scale) { return std::fabs(std::fabs(x) - std::fabs(y)) <= 0.01 * scale; }

  bool shifted(Index shift, bool rows) {
    Elements<T> elements(problem_, side_.format);
    Index seen = 0;
    for (Index e : sample_) {
      Place p = place(problem_, e);
      Index& x = rows ? p.i : p.j;
      x += shift;
      if (x < 0 || x >= (rows ? problem_.m() : problem_.n())) continue;
      if (!elements.inside(p, side_.values[e])) return false;
      ++seen;
    }
    return seen >= 2;
  }

  T value(const Place& p) const { return side_.values[(p.item * problem_.m() + p.i) * problem_.n() + p.j]; }

  std::string zero() const {
    if (std::ranges::all_of(side_.values, [](T x) { return x == 0; })) return "every element is zero";
    Elements<T> elements(problem_, side_.format);
    const auto cut = [&](Index e) { return side_.values[e] == 0 && exact_value(elements(place(problem_, e))) < 0; };
    return std::ranges::all_of(outside_, cut) ? "zero stands where a negative value belongs, as after a ReLU" : "";
  }

  std::string transposed() const {
    if (problem_.m() != problem_.n()) return "";
    Elements<T> elements(problem_, side_.format);
    const auto across = [&](Index e) {
      const Place p = place(problem_, e);
      return elements.inside({p.item, p.j, p.i}, side_.values[e]);
    };
    return std::ranges::all_of(sample_, across) ? "the result is stored transposed" : "";
  }

  std::string factor() const {
    Elements<T> elements(problem_, side_.format);
    double largest = 0, scale = 0;
    for (Index e : sample_)
      if (const double exact = exact_value(elements(place(problem_, e))); std::fabs(exact) > largest)
        largest = std::fabs(exact), scale = static_cast<double>(side_.values[e]) / exact;
    const auto scaled = [&](Index e) {
      return elements.inside(place(problem_, e), static_cast<T>(static_cast<double>(side_.values[e]) / scale));
    };
    if (scale == 0 || !std::isfinite(scale) || !std::ranges::all_of(sample_, scaled)) return "";
    return fmt::format("every element is {:.6g} times what it should be, as with an alpha", scale);
  }

  // Rows (or columns) that hold another row's values.
  std::string moved(bool rows) const {
    constexpr Index most_lines = 8, most_across = 32, most_others = 4096;
    const Index lines = rows ? problem_.m() : problem_.n(), length = rows ? problem_.n() : problem_.m();
    if (length < 2) return "";
    Elements<T> elements(problem_, side_.format);
    std::vector<std::pair<Index, Index>> wrong;  // matrix of the batch, line
    for (Index e : outside_) {
      const Place p = place(problem_, e);
      const std::pair line{p.item, rows ? p.i : p.j};
      if (std::ranges::find(wrong, line) == wrong.end()) wrong.push_back(line);
    }
    std::string text;
    for (Index w = 0; w < std::min(std::ssize(wrong), most_lines); ++w) {
      const auto [item, line] = wrong[w];
      Index other = 0;
      for (; other < std::min(lines, most_others); ++other) {
        bool fits = other != line;
        for (Index x = 0; x < std::min(length, most_across) && fits; ++x)
          fits = elements.inside(rows ? Place{item, other, x} : Place{item, x, other},
                                 value(rows ? Place{item, line, x} : Place{item, x, line}));
        if (fits) break;
      }
      if (other == std::min(lines, most_others)) return "";
      if (w < 3) text += fmt::format("{}{} {} holds what {} should", w ? ", " : "", rows ? "row" : "column", line, other);
    }
    return wrong.size() > 3 ? fmt::format("{}, and so on in {} in all", text, wrong.size()) : text;
  }

  // One value was added to each element of a column (or row).
  std::string constant(bool column) const {
    const Index lines = column ? problem_.n() : problem_.m(), length = column ? problem_.m() : problem_.n();
    if (length < 3) return "";
    Elements<T> elements(problem_, side_.format);
    double first = 0;
    for (Index l = 0; l < std::min<Index>(lines, 8); ++l) {
      double low = -HUGE_VAL, high = HUGE_VAL;  // what the elements so far allow
      for (Index x = 0; x < std::min<Index>(length, 16); ++x) {
        const Place p = column ? Place{0, x, l} : Place{0, l, x};
        const T v = value(p);
        const double off = exact_error(elements(p), v);
        const double slack = error_bound(dtype_of<T> == DType::f32 ? Precision::f32 : Precision::f64, elements(p)) +
                             2 * static_cast<double>(std::numeric_limits<T>::epsilon()) * (std::fabs(off) + std::fabs(v));
        low = std::max(low, off - slack);
        high = std::min(high, off + slack);
      }
      if (!(low <= high)) return "";
      if (l == 0) first = (low + high) / 2;
    }
    return fmt::format("each {} has one value added to it ({:.6g} in the first), as with a bias; --c gives it",
                       column ? "column" : "row", first);
  }

  const Problem<T>& problem_;
  const Side<T>& side_;
  std::vector<Index> sample_;
  const std::vector<Index>& outside_;

 public:
  std::vector<std::vector<T>> storage_;  // of the last problem found
};

}  // namespace

template <class T>
Diagnosis diagnose(const Problem<T>& problem, const Side<T>& side, Search<T>& search, const Options& options) {
  if (options.progress) options.progress("comparing with the exact result");
  Diagnosis d;
  Elements<T> elements(problem, side.format);
  const auto list = judged(problem.elements(), problem.k());
  std::vector<Index> outside, special;
  for (Index e : list) {
    const Place p = place(problem, e);
    const T v = side.values[e];
    if (elements.inside(p, v)) continue;
    outside.push_back(e);
    if (!std::isfinite(v) || !std::isfinite(exact_value(elements(p)))) special.push_back(e);
  }
  const std::string precision = dtype_of<T> == DType::f32 ? "float32" : "float64";
  if (outside.empty()) {
    d.notes.push_back(
        fmt::format("every element judged ({}) is within the {} bound: a rounding difference", list.size(), precision));
    return d;
  }
  const auto show = [&](Index e) {
    const Place p = place(problem, e);
    return fmt::format("{} is {}, exactly {}", at(p, problem.batch()), hex(side.values[e]), exact_value(elements(p)));
  };

  if (!special.empty()) {
    d.outside = true;
    const T v = side.values[special.front()];
    const double exact = exact_value(elements(place(problem, special.front())));
    const char* found = std::isnan(v) ? "NaN" : std::isinf(v) ? "an infinity" : "a finite number";
    const char* wanted = std::isnan(exact) ? "NaN" : std::isinf(exact) ? "an infinity" : "a finite number";
    d.cause = fmt::format("{} where {} belongs, in {} of {} elements; first {}", found, wanted, special.size(), list.size(),
                          show(special.front()));
    d.notes.push_back(d.cause);
    return d;
  }

  const auto flushed = [&](Index e) {
    return side.values[e] == 0 && std::fabs(exact_value(elements(place(problem, e)))) < std::numeric_limits<T>::min();
  };
  if (std::ranges::all_of(outside, flushed)) {
    d.outside = true;
    d.cause = fmt::format("zero stands where a subnormal belongs, in {} of {} elements: they were flushed to zero; first {}",
                          outside.size(), list.size(), show(outside.front()));
    d.notes.push_back(d.cause);
    return d;
  }

  // What would bring it inside, looked for on the elements outside and as many others.
  std::vector<Index> sample(outside.begin(), outside.begin() + std::min<std::ptrdiff_t>(32, std::ssize(outside)));
  for (std::size_t i = 0; i < 32 && i < list.size(); ++i)
    sample.push_back(list[i * list.size() / std::min<std::size_t>(32, list.size())]);
  Causes<T> causes(problem, side, sample, outside);
  if (const auto cause = causes.find()) {
    d.outside = true;
    d.cause = cause->what;
    d.notes.push_back(
        fmt::format("{} of {} elements are outside the {} bound: {}", outside.size(), list.size(), precision, cause->what));
    if (!cause->problem.a.empty()) {
      Search<T> again(cause->problem, side.format, options);
      const Fits fits = again.whole(side.values);
      if (fits.identified()) {
        d.order = fits.list.front().order.text();
        d.notes.push_back(fmt::format("so read, {} reproduces all {} elements", d.order, side.values.size()));
      }
    }
    return d;
  }

  // A few elements outside and the others in one order: those few are wrong.
  if (std::ssize(outside) <= std::max<Index>(1, std::ssize(list) / 50) && std::ssize(list) == problem.elements()) {
    std::vector<std::uint8_t> ignored(side.values.size());
    for (Index e : outside) ignored[static_cast<std::size_t>(e)] = 1;
    const Fits fits = search.whole(side.values, "", ignored);
    d.outside = true;
    d.cause = fmt::format("{} of {} elements {} wrong: {}", outside.size(), list.size(), outside.size() == 1 ? "is" : "are",
                          show(outside.front()));
    d.notes.push_back(d.cause);
    if (fits.identified()) {
      d.order = fits.list.front().order.text();
      d.notes.push_back(fmt::format("the other {} are reproduced by {}", problem.elements() - std::ssize(outside), d.order));
    }
    return d;
  }

  std::optional<Precision> size = Precision::f64;
  for (Index e : outside) {
    const auto here = size_of_error(elements(place(problem, e)), side.values[e]);
    size = !here ? std::nullopt : size ? std::optional(std::max(*size, *here)) : std::nullopt;
    if (!size) break;
  }
  if (size) {
    d.notes.push_back(
        fmt::format("has the size of a {} error: {} of {} elements are outside the {} bound, all within that of {}",
                    name(*size), outside.size(), list.size(), precision, name(*size)));
    return d;
  }
  d.outside = true;
  d.cause = fmt::format(
      "{} of {} elements are further from the exact result than any rounding, FP16 inputs included, can bring them; first "
      "{}",
      outside.size(), list.size(), show(outside.front()));
  d.notes.push_back(d.cause);
  return d;
}

template Diagnosis diagnose(const Problem<float>&, const Side<float>&, Search<float>&, const Options&);
template Diagnosis diagnose(const Problem<double>&, const Side<double>&, Search<double>&, const Options&);

}  // namespace samebits::explain
