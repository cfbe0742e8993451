// SPDX-License-Identifier: Apache-2.0
// JAX and TensorFlow on CPUs: forms that were seen by probing JAX 0.10.2 and TensorFlow 2.21. Which form a shape takes is
// mostly not known, so it is a key.
#include <fmt/format.h>

#include "profiles/systems.h"

namespace samebits::profiles {
namespace {

std::optional<Order> jax(const Call& call, const Keys& keys) {
  const std::string& form = choice(keys, "form", {"chain", "chunks512", "chunks1024", "lanes4", "unfused"});
  if (form == "chunks512") return Order::parse("chunks(512) > fma");
  if (form == "chunks1024") return Order::parse("chunks(1024) > fma");
  if (form == "lanes4" && call.dtype == DType::f64) return {};
  if (form == "lanes4") return Order::parse("lanes(4, fold=pairs, tail=sum) > fma");
  return Order::parse(form == "unfused" ? "mul" : "fma");
}

std::optional<Order> tensorflow(const Call& call, const Keys&) {
  if (call.dtype == DType::f32) return Order::parse(call.k <= 384 ? "fma" : "chunks(384, balance=half) > fma");  // oneDNN
  if (call.m == 1 || call.n == 1) return {};
  const Index kc = eigen_equal_blocks(call.k, 504);
  return Order::parse(kc < call.k ? fmt::format("chunks({}) > mul", kc) : "mul");
}

}  // namespace

Profile jax_cpu() {
  return {
      "jax-cpu",
      "JAX (XLA) on x86-64 CPUs, as far as known",
      {"the forms were seen by probing JAX 0.10.2 on one AMD CPU; no result is recorded, the choice of form is not known"},
      {{"form",
        {"chain", "chunks512", "chunks1024", "lanes4", "unfused"},
        "one chain, blocks of K, four lanes, or a chain without FMA"}},
      jax};
}

Profile tensorflow_cpu() {
  return {"tensorflow-cpu",
          "TensorFlow on x86-64 CPUs, as far as known",
          {"float32 blocks and float64 blocks as probed in TensorFlow 2.21 on one AMD CPU; no result is recorded",
           "edge columns in float64 (2 or 4 lanes), one column, and threads are not covered"},
          {},
          tensorflow};
}

}  // namespace samebits::profiles
