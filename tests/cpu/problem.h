// SPDX-License-Identifier: Apache-2.0
// A product with everything that may vary, its operands between canaries, and the comparison with the reference evaluator.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "io/npy.h"
#include "reference/reference.h"
#include "samebits/gemm.h"

namespace samebits::test {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
Bits<T> bits(T x) {
  return std::bit_cast<Bits<T>>(x);
}
template <class T>
bool same(T x, T y) {
  return bits(x) == bits(y) || (std::isnan(x) && std::isnan(y));
}

// Never the value of an element: elements are written by arithmetic, which gives other NaNs.
template <class T>
constexpr T canary = std::bit_cast<T>(sizeof(T) == 4 ? Bits<T>(0x7fc0dead) : Bits<T>(0x7ff8deaddeaddead));

enum class Layout { rows, padded_rows, columns, padded_columns, reversed, spread, repeated_row };

// A matrix in the middle of canaries.
template <class T>
class Stored {
 public:
  Stored(Index rows, Index cols, Layout layout) {
    Index rs = 0, cs = 0;
    switch (layout) {
      case Layout::rows:
        rs = cols, cs = 1;
        break;
      case Layout::padded_rows:
        rs = cols + 5, cs = 1;
        break;
      case Layout::columns:
        rs = 1, cs = rows;
        break;
      case Layout::padded_columns:
        rs = 1, cs = rows + 3;
        break;
      case Layout::reversed:
        rs = -(cols + 2), cs = 1;
        break;
      case Layout::spread:
        rs = 3 * cols + 4, cs = -3;
        break;
      case Layout::repeated_row:
        rs = 0, cs = 1;
        break;
    }
    const Index down = rows > 0 ? (rows - 1) * rs : 0, right = cols > 0 ? (cols - 1) * cs : 0;
    const Index low = std::min<Index>(down, 0) + std::min<Index>(right, 0);
    const Index high = std::max<Index>(down, 0) + std::max<Index>(right, 0);
    data_.assign(high - low + 1 + 2 * margin, canary<T>);
    view_ = {data_.data() + margin - low, rows, cols, rs, cs};
  }
  Stored(const Stored& x) : data_(x.data_), view_(x.view_) { view_.data = data_.data() + (x.view_.data - x.data_.data()); }

  MatrixView<T> view() const { return view_; }

  template <class F>
  void fill(F&& f) {
    for (Index i = 0; i < view_.rows; ++i)
      for (Index j = 0; j < view_.cols; ++j) view_(i, j) = f();
  }
  // Everything outside the elements is as it was.
  bool canaries_alive() const {
    std::vector<bool> element(data_.size());
    for (Index i = 0; i < view_.rows; ++i)
      for (Index j = 0; j < view_.cols; ++j) element[&view_(i, j) - data_.data()] = true;
    for (std::size_t x = 0; x < data_.size(); ++x)
      if (!element[x] && bits(data_[x]) != bits(canary<T>)) return false;
    return true;
  }

 private:
  static constexpr Index margin = 67;
  std::vector<T> data_;
  MatrixView<T> view_;
};

enum class Values { normal, integers, corners };

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  Index below(Index n) { return static_cast<Index>(engine_() % static_cast<std::uint64_t>(n)); }
  Index between(Index low, Index high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class V>
  const V& of(const std::vector<V>& list) {
    return list[below(static_cast<Index>(list.size()))];
  }
  template <class T>
  T value(Values kind) {
    switch (kind) {
      case Values::normal:
        return static_cast<T>(normal_(engine_));
      case Values::integers:
        return static_cast<T>(between(-8, 8));
      case Values::corners:
        break;
    }
    using L = std::numeric_limits<T>;
    const T sign = below(2) ? T(1) : T(-1);
    switch (below(12)) {
      case 0:
        return sign * T(0);
      case 1:
        return sign * L::denorm_min() * T(below(5000));
      case 2:
        return sign * L::min();
      case 3:
        return sign * std::sqrt(L::max());
      case 4:
        return sign * std::sqrt(L::min());
      case 5:
        return chance(5) ? sign * L::infinity() : sign;
      case 6:
        return chance(5) ? L::quiet_NaN() : sign * T(0);
      default:
        return sign * std::ldexp(T(1) + static_cast<T>(engine_() >> 11) * T(0x1p-53), int(between(-20, 20)));
    }
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

template <class T>
struct Problem {
  std::string order = "fma";
  Index m = 1, n = 1, k = 1;
  T alpha = 1, beta = 0;
  Layout a = Layout::rows, b = Layout::rows, c = Layout::rows;
  Index bias_stride = -1;  // -1: no bias
  Values values = Values::normal;
  std::uint64_t seed = 1;

  std::string text() const {
    return fmt::format(
        "order \"{}\", {} x {} x {} {}, alpha {}, beta {}, layouts {} {} {}, bias stride {}, values {}, seed {}", order, m,
        n, k, sizeof(T) == 4 ? "f32" : "f64", alpha, beta, int(a), int(b), int(c), bias_stride, int(values), seed);
  }
};

template <class T>
struct Operands {
  Stored<T> a, b, c;
  std::vector<T> bias;
  Index bias_stride;

  explicit Operands(const Problem<T>& p) : a(p.m, p.k, p.a), b(p.k, p.n, p.b), c(p.m, p.n, p.c), bias_stride(p.bias_stride) {
    Random random(p.seed);
    a.fill([&] { return random.template value<T>(p.values); });
    b.fill([&] { return random.template value<T>(p.values); });
    // beta = 0 must not read C: a NaN would show.
    c.fill([&] { return p.beta == 0 ? std::numeric_limits<T>::quiet_NaN() : random.template value<T>(p.values); });
    if (p.bias_stride >= 0) bias.resize(std::max<Index>(1, p.n * std::max<Index>(1, p.bias_stride)));
    for (T& x : bias) x = random.template value<T>(p.values);
  }
  Bias<T> bias_view() const { return {bias.empty() ? nullptr : bias.data(), bias.empty() ? 1 : bias_stride}; }
  MatrixView<const T> a_view() const { return a.view(); }
  MatrixView<const T> b_view() const { return b.view(); }
};

// "rows 0..3 of 8, columns 12..12 of 13; 4 elements": where two results differ.
template <class T>
std::string differences(MatrixView<T> got, MatrixView<T> expected) {
  std::set<Index> rows, cols;
  Index count = 0;
  std::string first;
  for (Index i = 0; i < got.rows; ++i)
    for (Index j = 0; j < got.cols; ++j) {
      if (same(got(i, j), expected(i, j))) continue;
      if (count++ == 0)
        first = fmt::format("first ({}, {}): got {} ({:#x}), expected {} ({:#x})", i, j, got(i, j), bits(got(i, j)),
                            expected(i, j), bits(expected(i, j)));
      rows.insert(i), cols.insert(j);
    }
  if (count == 0) return "";
  const auto region = [](const std::set<Index>& x, Index n) {
    return static_cast<Index>(x.size()) == n ? std::string("all")
                                             : fmt::format("{} of {}, {}..{}", x.size(), n, *x.begin(), *x.rbegin());
  };
  return fmt::format("{} elements differ, rows: {}, columns: {}; {}", count, region(rows, got.rows), region(cols, got.cols),
                     first);
}

template <class T>
std::string dump(const Operands<T>& x, std::uint64_t seed) {
  const std::filesystem::path base = std::filesystem::temp_directory_path();
  const std::string stem =
      fmt::format("samebits_failed_{}_{}x{}x{}_", seed, x.c.view().rows, x.c.view().cols, x.a.view().cols);
  io::write_npy(base / (stem + "a.npy"), io::from_matrix(x.a_view()));
  io::write_npy(base / (stem + "b.npy"), io::from_matrix(x.b_view()));
  return (base / stem).string() + "{a,b}.npy";
}

// How many problems `check` has seen, by what computed them: a suite that only meets refusals proves nothing.
struct Tally {
  int kernels = 0, reference = 0, refused = 0;
};
inline Tally tally;

// Runs the problem and compares with the reference.
template <class T>
void check(const Problem<T>& p, const Context& context) {
  const Order order = Order::parse(p.order);
  Operands<T> ours(p), reference(p);
  try {
    reference::gemm(p.alpha, reference.a_view(), reference.b_view(), p.beta, reference.c.view(), order,
                    reference.bias_view());
  } catch (const Error& error) {
    EXPECT_THROW(
        {
          const Plan<T> plan(order, p.m, p.n, p.k, context);
          plan.run(p.alpha, ours.a_view(), ours.b_view(), p.beta, ours.c.view(), ours.bias_view());
        },
        Error)
        << p.text() << "\nthe reference: " << error.what();
    ++tally.refused;
    return;
  }
  const Plan<T> plan(order, p.m, p.n, p.k, context);
  plan.run(p.alpha, ours.a_view(), ours.b_view(), p.beta, ours.c.view(), ours.bias_view());
  ++(plan.kernel().find("reference") == std::string::npos ? tally.kernels : tally.reference);
  const std::string differ = differences(ours.c.view(), reference.c.view());
  EXPECT_TRUE(differ.empty()) << p.text() << "\nisa \"" << context.isa << "\", " << context.threads << " threads, "
                              << plan.kernel() << "\n"
                              << differ << "\ninputs: " << dump(reference, p.seed);
  EXPECT_TRUE(ours.c.canaries_alive()) << p.text() << ", " << plan.kernel() << ": wrote outside C";
  EXPECT_TRUE(ours.a.canaries_alive() && ours.b.canaries_alive()) << p.text();
}

// Instruction sets that can run here, the reference left out.
inline std::vector<std::string> usable_isas() {
  std::vector<std::string> list;
  for (const KernelInfo& info : kernels())
    if (info.built && info.supported && info.isa != "reference" && (list.empty() || list.back() != info.isa))
      list.push_back(info.isa);
  return list;
}

}  // namespace samebits::test
