// SPDX-License-Identifier: Apache-2.0
// This library as a backend: any order, any instruction set.
#include <fmt/format.h>

#include <thread>

#include "backends/entries.h"
#include "samebits/gemm.h"

namespace samebits::adapters {
namespace {

class Samebits final : public TypedBackend<Samebits> {
 public:
  explicit Samebits(const Specification& s)
      : name_(s.text), order_(Order::parse(s.option("order", "fma"))), isa_(s.option("isa", "")) {
    s.only("order, isa");
    kernel_ = Plan<float>({}, 64, 64, 64, {1, isa_}).kernel();  // an unknown instruction set is an error here
    try {
      kernel_ = Plan<float>(order_, 64, 64, 64, {1, isa_}).kernel();
    } catch (const Error&) {  // an order for another length
      kernel_ = "kernel by length";
    }
  }
  std::string name() const override { return name_; }
  std::string description() const override {
    return fmt::format("samebits, order {}, {}, up to {} threads", order_.text(), kernel_,
                       std::thread::hardware_concurrency());
  }

  template <class T>
  void run(const BackendCall<T>& x) const {
    const auto a = x.trans_a ? row_major(x.a, x.k, x.m, x.lda).transposed() : row_major(x.a, x.m, x.k, x.lda);
    const auto b = x.trans_b ? row_major(x.b, x.n, x.k, x.ldb).transposed() : row_major(x.b, x.k, x.n, x.ldb);
    gemm(x.alpha, a, b, x.beta, row_major(x.c, x.m, x.n, x.ldc), order_, {x.threads, isa_});
  }

 private:
  std::string name_;
  Order order_;
  std::string isa_, kernel_;
};

}  // namespace

std::unique_ptr<Backend> open_samebits(const Specification& s) {
  return std::make_unique<Samebits>(s);
}

}  // namespace samebits::adapters
