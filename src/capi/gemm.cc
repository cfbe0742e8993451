// SPDX-License-Identifier: Apache-2.0
#include "samebits/gemm.h"

#include "capi/objects.h"
#include "capi/status.h"

using namespace samebits;
using namespace samebits::capi;

namespace {

const std::vector<KernelInfo>& kernel_list() {
  static const std::vector<KernelInfo> list = kernels();
  return list;
}

}  // namespace

extern "C" {

samebits_status samebits_context_create(int threads, const char* isa, samebits_context** context) {
  return guard([&] {
    require(context, "context is NULL");
    require(threads >= 0, "threads must not be negative");
    Context value{threads, isa ? isa : ""};
    // A name that no kernel has is an error here, not at the first product.
    Plan<float>(Order(), 0, 0, 0, value);
    *context = new samebits_context{std::move(value)};
  });
}

void samebits_context_free(samebits_context* context) { delete context; }

size_t samebits_kernel_count(void) {
  size_t count = 0;
  guard([&] { count = kernel_list().size(); });
  return count;
}

samebits_status samebits_kernel_get(size_t index, samebits_kernel* kernel) {
  return guard([&] {
    require(kernel && index < kernel_list().size(), "kernel is NULL, or the index is not below samebits_kernel_count()");
    const KernelInfo& info = kernel_list()[index];
    *kernel = {info.name.c_str(), info.isa.c_str(), info.built, info.supported};
  });
}

samebits_status samebits_sgemm(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n, int64_t k,
                               float alpha, const float* a, int64_t rs_a, int64_t cs_a, const float* b, int64_t rs_b,
                               int64_t cs_b, float beta, float* c, int64_t rs_c, int64_t cs_c) {
  return guard([&] {
    gemm(alpha, {a, m, k, rs_a, cs_a}, {b, k, n, rs_b, cs_b}, beta, {c, m, n, rs_c, cs_c}, value_of(order), value_of(context));
  });
}

samebits_status samebits_dgemm(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n, int64_t k,
                               double alpha, const double* a, int64_t rs_a, int64_t cs_a, const double* b, int64_t rs_b,
                               int64_t cs_b, double beta, double* c, int64_t rs_c, int64_t cs_c) {
  return guard([&] {
    gemm(alpha, {a, m, k, rs_a, cs_a}, {b, k, n, rs_b, cs_b}, beta, {c, m, n, rs_c, cs_c}, value_of(order), value_of(context));
  });
}

samebits_status samebits_sgemm_batch(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                     int64_t k, float alpha, const float* a, int64_t rs_a, int64_t cs_a, int64_t batch_a,
                                     const float* b, int64_t rs_b, int64_t cs_b, int64_t batch_b, float beta, float* c,
                                     int64_t rs_c, int64_t cs_c, int64_t batch_c, int64_t count) {
  return guard([&] {
    gemm_batch(alpha, {a, m, k, rs_a, cs_a}, batch_a, {b, k, n, rs_b, cs_b}, batch_b, beta, {c, m, n, rs_c, cs_c}, batch_c,
               count, value_of(order), value_of(context));
  });
}

samebits_status samebits_dgemm_batch(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                     int64_t k, double alpha, const double* a, int64_t rs_a, int64_t cs_a, int64_t batch_a,
                                     const double* b, int64_t rs_b, int64_t cs_b, int64_t batch_b, double beta, double* c,
                                     int64_t rs_c, int64_t cs_c, int64_t batch_c, int64_t count) {
  return guard([&] {
    gemm_batch(alpha, {a, m, k, rs_a, cs_a}, batch_a, {b, k, n, rs_b, cs_b}, batch_b, beta, {c, m, n, rs_c, cs_c}, batch_c,
               count, value_of(order), value_of(context));
  });
}

samebits_status samebits_splan_create(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                      int64_t k, samebits_splan** plan) {
  return guard([&] {
    require(plan, "plan is NULL");
    *plan = new samebits_splan{Plan<float>(value_of(order), m, n, k, value_of(context))};
  });
}

samebits_status samebits_dplan_create(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                      int64_t k, samebits_dplan** plan) {
  return guard([&] {
    require(plan, "plan is NULL");
    *plan = new samebits_dplan{Plan<double>(value_of(order), m, n, k, value_of(context))};
  });
}

void samebits_splan_free(samebits_splan* plan) { delete plan; }
void samebits_dplan_free(samebits_dplan* plan) { delete plan; }

samebits_status samebits_splan_kernel(const samebits_splan* plan, char* buffer, size_t size, size_t* length) {
  return guard([&] {
    require(plan, "plan is NULL");
    copy_text(plan->value.kernel(), buffer, size, length);
  });
}

samebits_status samebits_dplan_kernel(const samebits_dplan* plan, char* buffer, size_t size, size_t* length) {
  return guard([&] {
    require(plan, "plan is NULL");
    copy_text(plan->value.kernel(), buffer, size, length);
  });
}

samebits_status samebits_splan_run(const samebits_splan* plan, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                                   int64_t rs_a, int64_t cs_a, const float* b, int64_t rs_b, int64_t cs_b, float beta, float* c,
                                   int64_t rs_c, int64_t cs_c, const float* bias, int64_t stride_bias) {
  return guard([&] {
    require(plan, "plan is NULL");
    plan->value.run(alpha, {a, m, k, rs_a, cs_a}, {b, k, n, rs_b, cs_b}, beta, {c, m, n, rs_c, cs_c}, {bias, stride_bias});
  });
}

samebits_status samebits_dplan_run(const samebits_dplan* plan, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                                   int64_t rs_a, int64_t cs_a, const double* b, int64_t rs_b, int64_t cs_b, double beta,
                                   double* c, int64_t rs_c, int64_t cs_c, const double* bias, int64_t stride_bias) {
  return guard([&] {
    require(plan, "plan is NULL");
    plan->value.run(alpha, {a, m, k, rs_a, cs_a}, {b, k, n, rs_b, cs_b}, beta, {c, m, n, rs_c, cs_c}, {bias, stride_bias});
  });
}

}  // extern "C"
