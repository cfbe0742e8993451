// SPDX-License-Identifier: Apache-2.0
// One call of a backend with buffers that stay where they are: the same addresses, strides and options every time.
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reference/reference.h"
#include "samebits/backend.h"
#include "samebits/error.h"
#include "samebits/probe.h"

namespace samebits::explain {

// n values whose address is `offset` bytes past a multiple of 64.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t n, unsigned offset, T value) : storage_(n + 128 / sizeof(T), value) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    const auto shift = (64 - address % 64 + offset % 64) % 64;
    data_ = storage_.data() + shift / sizeof(T);
  }
  T* data() const { return data_; }

 private:
  std::vector<T> storage_;
  T* data_ = nullptr;
};

template <class T>
class Caller {
 public:
  Caller(Backend& backend, const ProbeCall& p, const ProbeOptions& options = unlimited())
      : backend_(backend), p_(p), max_calls_(options.max_calls), progress_(options.progress) {
    x_.m = p.m, x_.n = p.n, x_.k = p.k;
    x_.trans_a = p.trans_a, x_.trans_b = p.trans_b;
    x_.threads = p.threads, x_.constant_b = p.constant_b;
    x_.lda = (p.trans_a ? p.m : p.k) + p.a_gap;
    x_.ldb = (p.trans_b ? p.k : p.n) + p.b_gap;
    x_.ldc = p.n + p.c_gap;
    a_ = {static_cast<std::size_t>((p.trans_a ? p.k : p.m) * x_.lda), p.a_offset, T(0)};
    b_ = {static_cast<std::size_t>((p.trans_b ? p.n : p.k) * x_.ldb), p.b_offset, T(0)};
    c_ = {static_cast<std::size_t>(p.m * x_.ldc), p.c_offset, T(0)};
    x_.a = a_.data(), x_.b = b_.data(), x_.c = c_.data();
  }

  const ProbeCall& call() const { return p_; }
  T& a(Index i, Index k) const { return a_.data()[p_.trans_a ? k * x_.lda + i : i * x_.lda + k]; }
  T& b(Index k, Index j) const { return b_.data()[p_.trans_b ? j * x_.ldb + k : k * x_.ldb + j]; }
  T& c(Index i, Index j) const { return c_.data()[i * x_.ldc + j]; }
  void fill_a(T v) const {
    for (Index i = 0; i < p_.m; ++i)
      for (Index k = 0; k < p_.k; ++k) a(i, k) = v;
  }
  void fill_b(T v) const {
    for (Index k = 0; k < p_.k; ++k)
      for (Index j = 0; j < p_.n; ++j) b(k, j) = v;
  }
  // N(0,1), the same values for the same seed whatever the storage.
  void fill_random(std::uint64_t seed) const {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    for (Index i = 0; i < p_.m; ++i)
      for (Index k = 0; k < p_.k; ++k) a(i, k) = static_cast<T>(normal(engine));
    for (Index k = 0; k < p_.k; ++k)
      for (Index j = 0; j < p_.n; ++j) b(k, j) = static_cast<T>(normal(engine));
  }

  // C starts as NaN unless beta reads it.
  void run(T alpha = 1, T beta = 0) {
    if (++calls_ > max_calls_)
      throw Error(Code::backend,
                  backend_.name() + ": the order was not found within " + std::to_string(max_calls_) + " calls");
    if (beta == 0)
      for (Index i = 0; i < p_.m; ++i)
        for (Index j = 0; j < p_.n; ++j) c(i, j) = std::numeric_limits<T>::quiet_NaN();
    x_.alpha = alpha, x_.beta = beta;
    backend_.multiply(x_);
    if (progress_) progress_(stage_, calls_);
  }
  // What the next calls are for, to whoever watches.
  void stage(std::string name) {
    stage_ = std::move(name);
    if (progress_) progress_(stage_, calls_);
  }
  // Element i of C in row order.
  T result_at(std::size_t i) const { return c(static_cast<Index>(i) / p_.n, static_cast<Index>(i) % p_.n); }
  std::vector<T> result() const {
    std::vector<T> out;
    for (Index i = 0; i < p_.m; ++i) out.insert(out.end(), &c(i, 0), &c(i, 0) + p_.n);
    return out;
  }
  Index calls() const { return calls_; }

 private:
  static ProbeOptions unlimited() {
    ProbeOptions options;
    options.max_calls = std::numeric_limits<Index>::max();
    return options;
  }

  Backend& backend_;
  ProbeCall p_;
  Index max_calls_;
  BackendCall<T> x_;
  Buffer<T> a_, b_, c_;
  Index calls_ = 0;
  std::function<void(const std::string&, Index)> progress_;
  std::string stage_;
};

// Rows of A and columns of B as they are multiplied: one behind the other, rounded as the backend rounds its inputs.
template <class T>
class Inputs {
 public:
  Inputs(const Caller<T>& caller, InputRounding rounding)
      : n_(static_cast<std::size_t>(caller.call().n)), k_(static_cast<std::size_t>(caller.call().k)) {
    const auto& p = caller.call();
    const auto rounded = [&](T x) { return reference::round_to(rounding.format, rounding.rounding, x); };
    rows_.reserve(static_cast<std::size_t>(p.m) * k_);
    for (Index i = 0; i < p.m; ++i)
      for (Index q = 0; q < p.k; ++q) rows_.push_back(rounded(caller.a(i, q)));
    columns_.reserve(n_ * k_);
    for (Index j = 0; j < p.n; ++j)
      for (Index q = 0; q < p.k; ++q) columns_.push_back(rounded(caller.b(q, j)));
  }
  // The row and the column of an element of C, in row order.
  const T* a(std::size_t element) const { return rows_.data() + element / n_ * k_; }
  const T* b(std::size_t element) const { return columns_.data() + element % n_ * k_; }
  MatrixView<const T> rows() const {
    return row_major<const T>(rows_.data(), static_cast<Index>(rows_.size() / k_), static_cast<Index>(k_));
  }
  MatrixView<const T> columns() const {
    return row_major<const T>(columns_.data(), static_cast<Index>(n_), static_cast<Index>(k_));
  }

 private:
  std::size_t n_, k_;
  std::vector<T> rows_, columns_;
};

}  // namespace samebits::explain
