// SPDX-License-Identifier: Apache-2.0
// Products for the tests of explain: random inputs, recorded cases, results by order.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "io/npy.h"
#include "io/operands.h"
#include "samebits/explain.h"
#include "samebits/gemm.h"

namespace samebits::explain {

// One product with its operands, N(0,1) unless filled otherwise; c is a bias of n values.
template <class T>
struct Made {
  std::vector<T> a, b, bias;
  Problem<T> problem;

  Made(Index m, Index n, Index k, unsigned seed, bool with_bias = false, bool weight = false) : a(m * k), b(k * n) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (T& x : a) x = static_cast<T>(normal(random));
    for (T& x : b) x = static_cast<T>(normal(random));
    problem.a = {row_major<const T>(a.data(), m, k)};
    problem.b = {weight ? row_major<const T>(b.data(), n, k).transposed() : row_major<const T>(b.data(), k, n)};
    problem.trans_b = weight;
    problem.threads = 1;
    if (!with_bias) return;
    bias.resize(n);
    for (T& x : bias) x = static_cast<T>(normal(random));
    problem.c = {MatrixView<const T>{bias.data(), m, n, 0, 1}};
  }
  Made(const Made&) = delete;

  std::vector<T> result(const Order& order) const { return result_of(problem, order); }
  Side<T> side(const std::string& order) const { return {order, result(Order::parse(order))}; }
  // A known side: costs nothing to explain.
  Side<T> known(const std::string& order) const {
    Side<T> s = side(order);
    s.order = Order::parse(order);
    return s;
  }

  static std::vector<T> result_of(const Problem<T>& p, const Order& order) {
    std::vector<T> c(p.elements());
    for (Index item = 0; item < p.batch(); ++item) {
      const auto view = row_major(c.data() + item * p.m() * p.n(), p.m(), p.n());
      if (!p.c.empty())
        for (Index i = 0; i < p.m(); ++i)
          for (Index j = 0; j < p.n(); ++j) view(i, j) = p.c[item](i, j);
      gemm(T(1), p.a[item], p.b[item], p.c.empty() ? T(0) : T(1), view, order);
    }
    return c;
  }
};

// A recorded case from tests/data/cases. The operation is in its case.json: "y = x @ w.T" unless told otherwise.
template <class T>
struct Recorded {
  std::filesystem::path directory;
  io::Array a, b;
  std::vector<T> c;
  io::Operands operands;
  Problem<T> problem;

  static const std::vector<T>& values(const io::Array& array) {
    if constexpr (std::is_same_v<T, float>)
      return array.f32;
    else
      return array.f64;
  }

  explicit Recorded(const std::string& name, bool transposed = true)
      : directory(std::filesystem::path(SAMEBITS_TEST_DATA) / "cases" / name),
        a(io::read_npy(directory / "a.npy")),
        b(io::read_npy(directory / "b.npy")),
        operands(io::operands(a, b, {.trans_a = false, .trans_b = transposed})) {
    for (Index i = 0; i < operands.count; ++i) {
      problem.a.push_back(operands.a(values(a).data(), i));
      problem.b.push_back(operands.b(values(b).data(), i));
    }
    problem.a_shape = operands.a_shape;
    problem.b_shape = operands.b_shape;
    problem.trans_b = transposed;
    if (!std::filesystem::exists(directory / "c.npy")) return;
    c = values(io::read_npy(directory / "c.npy"));
    problem.c = {MatrixView<const T>{c.data(), operands.m, operands.n, 0, 1}};
  }
  Recorded(const Recorded&) = delete;

  Side<T> side(const std::string& name) const { return {name, values(io::read_npy(directory / (name + ".npy")))}; }
};

}  // namespace samebits::explain
