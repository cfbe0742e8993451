// SPDX-License-Identifier: Apache-2.0
// Three loops, one accumulator an element, k ascending: what everybody writes first.
#include <cmath>

#include "backends/entries.h"

namespace samebits::adapters {
namespace {

class Naive final : public TypedBackend<Naive> {
 public:
  explicit Naive(const Specification& s) : name_(s.text), fused_(s.choice("op", "mul|fma") == "fma") { s.only("op"); }
  std::string name() const override { return name_; }
  bool sets_threads() const override { return false; }
  std::string description() const override { return fused_ ? "three loops, fma, 1 thread" : "three loops, 1 thread"; }

  template <class T>
  void run(const BackendCall<T>& x) const {
    for (Index i = 0; i < x.m; ++i)
      for (Index j = 0; j < x.n; ++j) {
        T sum = 0;
        for (Index k = 0; k < x.k && x.alpha != 0; ++k) {
          const T a = x.trans_a ? x.a[k * x.lda + i] : x.a[i * x.lda + k];
          const T b = x.trans_b ? x.b[j * x.ldb + k] : x.b[k * x.ldb + j];
          sum = fused_ ? std::fma(a, b, sum) : sum + a * b;
        }
        T& c = x.c[i * x.ldc + j];
        if (x.alpha != 1) sum = x.alpha * sum;
        c = x.beta == 0 ? sum : sum + (x.beta == 1 ? c : x.beta * c);
      }
  }

 private:
  std::string name_;
  bool fused_;
};

}  // namespace

std::unique_ptr<Backend> open_naive(const Specification& s) {
  return std::make_unique<Naive>(s);
}

}  // namespace samebits::adapters
