// SPDX-License-Identifier: Apache-2.0
// A product by our CUDA kernels in the simulator, and its comparison with the reference.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "cuda/host/executor.h"
#include "cuda/plan.h"
#include "reference/reference.h"

namespace samebits::cuda {

enum class Layout { row, column, padded_row, padded_column, spread, backwards };

// A matrix with storage of its own. What lies between its elements stays as it is: `intact` tells.
template <class T>
class Stored {
 public:
  Stored(Index rows, Index cols, Layout layout) {
    Index row = cols, col = 1;
    switch (layout) {
      case Layout::row: break;
      case Layout::column: row = 1, col = rows; break;
      case Layout::padded_row: row = cols + 4 - cols % 4 + 4; break;
      case Layout::padded_column: row = 1, col = rows + 4 - rows % 4 + 4; break;
      case Layout::spread: row = 3 * cols + 5, col = 3; break;
      case Layout::backwards: row = -cols; break;
    }
    const Index size = (rows ? (rows - 1) * std::abs(row) : 0) + (cols ? (cols - 1) * col : 0) + 1;
    offset_ = row < 0 ? (rows - 1) * -row : 0;
    size_ = static_cast<std::size_t>(size);
    data_.reset(static_cast<T*>(std::aligned_alloc(256, (size_ * sizeof(T) + 255) / 256 * 256)));
    std::fill_n(data_.get(), size_, gap());
    view = {data_.get() + offset_, rows, cols, row, col};
  }
  Stored(const Stored& other) : offset_(other.offset_), size_(other.size_), view(other.view) {
    data_.reset(static_cast<T*>(std::aligned_alloc(256, (size_ * sizeof(T) + 255) / 256 * 256)));
    std::copy_n(other.data_.get(), size_, data_.get());
    view.data = data_.get() + offset_;
  }
  MatrixView<const T> in() const { return view; }

  // All storage equal, NaN as NaN, gaps included; else the first difference.
  std::string difference(const Stored& want) const {
    for (Index i = 0; i < view.rows; ++i)
      for (Index j = 0; j < view.cols; ++j)
        if (!same(view(i, j), want.view(i, j)))
          return fmt::format("({}, {}): {:a}, should be {:a}; {} of {} differ", i, j, view(i, j), want.view(i, j), count(want), view.rows * view.cols);
    return std::memcmp(data_.get(), want.data_.get(), size_ * sizeof(T)) == 0 || has_nan() ? "" : "elements between those of C were written";
  }

 private:
  static T gap() { return T(-77.25); }
  static bool same(T x, T y) { return (std::isnan(x) && std::isnan(y)) || std::memcmp(&x, &y, sizeof(T)) == 0; }
  Index count(const Stored& want) const {
    Index n = 0;
    for (Index i = 0; i < view.rows; ++i)
      for (Index j = 0; j < view.cols; ++j) n += !same(view(i, j), want.view(i, j));
    return n;
  }
  bool has_nan() const {
    for (Index i = 0; i < view.rows; ++i)
      for (Index j = 0; j < view.cols; ++j)
        if (std::isnan(view(i, j))) return true;
    return false;
  }
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  Index offset_ = 0;
  std::size_t size_ = 0;
  std::unique_ptr<T, Free> data_;

 public:
  MatrixView<T> view;
};

enum class Values { normal, wide, special };

template <class T>
void fill(MatrixView<T> x, std::mt19937_64& random, Values values) {
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> exponent(-20, 20), one_of(0, 60);
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  const T specials[] = {T(-0.0), T(0), tiny * 5, -tiny, std::numeric_limits<T>::max(), std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::min() * T(1.5)};
  for (Index i = 0; i < x.rows; ++i)
    for (Index j = 0; j < x.cols; ++j) {
      x(i, j) = static_cast<T>(normal(random));
      if (values != Values::normal) x(i, j) = std::ldexp(x(i, j), exponent(random));
      const auto special = static_cast<std::size_t>(one_of(random));
      if (values == Values::special && special < std::size(specials)) x(i, j) = specials[special];
    }
}

template <class T>
struct Problem {
  std::string order = "fma";
  Index m = 1, n = 1, k = 1;
  T alpha = 1, beta = 0;
  bool bias = false;
  Layout a = Layout::row, b = Layout::row, c = Layout::row;
  Values values = Values::wide;
  DeviceLimits device = {};
  Choices choices = {};
  sim::Options simulator = {};
  std::uint64_t seed = 1;

  std::string text() const {
    return fmt::format("{} {}x{}x{} alpha {} beta {} bias {} layouts {}{}{} values {} sm_{} tile {} pieces {} seed {}", order, m, n, k, alpha, beta,
                       bias, static_cast<int>(a), static_cast<int>(b), static_cast<int>(c), static_cast<int>(values), device.architecture,
                       static_cast<int>(choices.tile), static_cast<int>(choices.pieces), seed);
  }
};

// Runs plan on host memory. A workspace full of NaN shows what a kernel reads before it is written.
template <class T>
void run_simulated(const LaunchPlan<T>& plan, Executor& executor, T alpha, MatrixView<const T> a, MatrixView<const T> b, T beta, MatrixView<T> c,
                   Bias<T> bias) {
  const std::size_t bytes = (plan.workspace_bytes() + 255) / 256 * 256;
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(256, bytes + 256), std::free);
  std::memset(workspace.get(), 0xff, bytes);
  const auto& program = plan.program();
  plan.run(executor, {program.runs.data(), program.pieces.data(), program.map.data()}, alpha, a, b, beta, c, bias, workspace.get(), bytes);
}

// "" or what differs. `kernel` gets the name of the kernel that did most of the work.
template <class T>
std::string check_problem(const Problem<T>& p, std::string* kernels = nullptr) {
  std::mt19937_64 random(p.seed);
  Stored<T> a(p.m, p.k, p.a), b(p.k, p.n, p.b), c(p.m, p.n, p.c), bias(1, p.n, Layout::spread);
  fill(a.view, random, p.values);
  fill(b.view, random, p.values);
  fill(c.view, random, p.beta == 0 ? Values::special : p.values);
  fill(bias.view, random, p.values);
  Stored<T> want = c;
  const Bias<T> added = p.bias ? Bias<T>{bias.view.data, bias.view.col_stride} : Bias<T>{};
  const Order order = Order::parse(p.order);
  reference::gemm(p.alpha, a.in(), b.in(), p.beta, want.view, order, added);

  sim::Options options = p.simulator;
  options.architecture = p.device.architecture;
  sim::SimulatedExecutor executor(options);
  const LaunchPlan<T> plan(order, p.m, p.n, p.k, p.device, p.choices);
  run_simulated(plan, executor, p.alpha, a.in(), b.in(), p.beta, c.view, added);
  if (kernels)
    for (const auto& [name, report] : executor.reports()) *kernels += name + " ";
  return c.difference(want);
}

}  // namespace samebits::cuda
