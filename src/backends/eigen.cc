// SPDX-License-Identifier: Apache-2.0
// Eigen's product, compiled in with the flags of this file. Eigen reads the cache sizes at run time: other CPUs, other
// blocks.
#include "backends/entries.h"
#include "samebits/error.h"

#ifdef SAMEBITS_HAVE_EIGEN
#define EIGEN_DONT_PARALLELIZE
#include <fmt/format.h>

#include <Eigen/Core>
#endif

namespace samebits::adapters {

#ifdef SAMEBITS_HAVE_EIGEN
namespace {

class EigenBackend final : public TypedBackend<EigenBackend> {
 public:
  std::string name() const override { return "eigen"; }
  bool sets_threads() const override { return false; }
  std::string description() const override {
    return fmt::format("Eigen {}.{}.{}, {}, 1 thread", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION,
                       Eigen::SimdInstructionSetsInUse());
  }

  template <class T>
  void run(const BackendCall<T>& x) const {
    using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using In = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;
    const In a(x.a, x.trans_a ? x.k : x.m, x.trans_a ? x.m : x.k, Eigen::OuterStride<>(x.lda));
    const In b(x.b, x.trans_b ? x.n : x.k, x.trans_b ? x.k : x.n, Eigen::OuterStride<>(x.ldb));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> c(x.c, x.m, x.n, Eigen::OuterStride<>(x.ldc));
    if (x.trans_a && x.trans_b)
      assign(x, a.transpose() * b.transpose(), &c);
    else if (x.trans_a)
      assign(x, a.transpose() * b, &c);
    else if (x.trans_b)
      assign(x, a * b.transpose(), &c);
    else
      assign(x, a * b, &c);
  }

 private:
  // As Eigen's users write it.
  template <class T, class Product, class C>
  static void assign(const BackendCall<T>& x, const Product& product, C* c) {
    if (x.alpha == 0) {
      if (x.beta == 0)
        c->setZero();
      else
        *c *= x.beta;
    } else if (x.alpha == 1 && x.beta == 0) {
      c->noalias() = product;
    } else if (x.alpha == 1 && x.beta == 1) {
      c->noalias() += product;
    } else if (x.beta == 0) {
      c->noalias() = x.alpha * product;
    } else {
      *c *= x.beta;
      c->noalias() += x.alpha * product;
    }
  }
};

}  // namespace

std::unique_ptr<Backend> open_eigen(const Specification& s) {
  s.only("");
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw Error(Code::backend, "compiled for AVX2 and FMA, which this CPU lacks");
#endif
  return std::make_unique<EigenBackend>();
}
#else
std::unique_ptr<Backend> open_eigen(const Specification&) {
  throw Error(Code::backend, "built without Eigen's headers (package libeigen3-dev)");
}
#endif

}  // namespace samebits::adapters
