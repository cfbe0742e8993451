/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of samebits: matrix products in a chosen accumulation order.
 *
 * Every function returns SAMEBITS_OK or an error; samebits_error_message() then says what was wrong, per thread. Nothing is
 * printed, nothing aborts, no C++ exception leaves a function. Objects are immutable and may be used from several threads at
 * once; what a *_create or *_parse made is released with its *_free (NULL is allowed there). */
#ifndef SAMEBITS_SAMEBITS_H_
#define SAMEBITS_SAMEBITS_H_

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef enum samebits_status {
  SAMEBITS_OK = 0,
  SAMEBITS_INVALID_ARGUMENT = 1, /* sizes, overlap, null pointers */
  SAMEBITS_SYNTAX = 2,           /* order text; samebits_error_column() says where */
  SAMEBITS_UNSUPPORTED = 3,      /* valid, but not on this machine or in this build */
  SAMEBITS_IO = 4,
  SAMEBITS_BACKEND = 5,
  SAMEBITS_OUT_OF_MEMORY = 6,
  SAMEBITS_INTERNAL = 7
} samebits_status;

/* "0.1.0" */
const char* samebits_version(void);
/* "invalid argument" for SAMEBITS_INVALID_ARGUMENT, ... */
const char* samebits_status_name(samebits_status status);
/* About the last call of this thread that failed; valid until this thread's next failure. "" if there was none. */
const char* samebits_error_message(void);
/* 1-based column in the text that was parsed; 0 where it has no meaning. */
size_t samebits_error_column(void);

/* ---- Orders: docs/orders.md describes the language. Where an order is taken, NULL means "fma". ---- */

typedef struct samebits_order samebits_order;

samebits_status samebits_order_parse(const char* text, samebits_order** order);
void samebits_order_free(samebits_order* order);

/* Text functions write at most `size` bytes, the closing 0 included, to `buffer` (NULL when size is 0), and the length of the
 * whole text, without the 0, to `length` (may be NULL): length >= size means that it was cut. */

/* Canonical text: parsing it gives an equal order. */
samebits_status samebits_order_text(const samebits_order* order, char* buffer, size_t size, size_t* length);
/* One line of English. */
samebits_status samebits_order_describe(const samebits_order* order, char* buffer, size_t size, size_t* length);
/* The tree over 0..k-1, e.g. "[0..3] + ([4..7])". */
samebits_status samebits_order_tree(const samebits_order* order, size_t k, char* buffer, size_t size, size_t* length);
/* *result = 1 if both give the same bits for every input with this k, else 0. */
samebits_status samebits_order_equivalent(const samebits_order* x, const samebits_order* y, size_t k, int* result);

/* ---- Contexts: how to run. Nothing here changes a bit. Where a context is taken, NULL means the defaults. ---- */

typedef struct samebits_context samebits_context;

/* threads: 0 takes SAMEBITS_NUM_THREADS, else 1. isa: NULL takes SAMEBITS_ISA, else the best that this CPU runs. */
samebits_status samebits_context_create(int threads, const char* isa, samebits_context** context);
void samebits_context_free(samebits_context* context);

typedef struct samebits_kernel {
  const char* name; /* "sgemm_avx2_6x16_fma" */
  const char* isa;  /* "avx2" */
  int built;        /* compiled into this library */
  int supported;    /* this CPU can run it */
} samebits_kernel;

size_t samebits_kernel_count(void);
/* The strings live as long as the library. */
samebits_status samebits_kernel_get(size_t index, samebits_kernel* kernel);

/* ---- Products: C (m x n) <- alpha * A (m x k) * B (k x n) + beta * C ----
 *
 * Element (i, j) of a matrix is data[i * rs + j * cs]; strides count elements, those of A and B may be zero or negative, so any
 * layout and transpose can be given. beta = 0 does not read C, alpha = 0 reads neither A nor B. C must not overlap A or B.
 * Arguments are checked before C is touched. */

samebits_status samebits_sgemm(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n, int64_t k,
                               float alpha, const float* a, int64_t rs_a, int64_t cs_a, const float* b, int64_t rs_b,
                               int64_t cs_b, float beta, float* c, int64_t rs_c, int64_t cs_c);
samebits_status samebits_dgemm(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n, int64_t k,
                               double alpha, const double* a, int64_t rs_a, int64_t cs_a, const double* b, int64_t rs_b,
                               int64_t cs_b, double beta, double* c, int64_t rs_c, int64_t cs_c);

/* `count` products; matrix i of an operand starts batch_? * i elements after the first (0 shares an input). */
samebits_status samebits_sgemm_batch(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                     int64_t k, float alpha, const float* a, int64_t rs_a, int64_t cs_a, int64_t batch_a,
                                     const float* b, int64_t rs_b, int64_t cs_b, int64_t batch_b, float beta, float* c,
                                     int64_t rs_c, int64_t cs_c, int64_t batch_c, int64_t count);
samebits_status samebits_dgemm_batch(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                     int64_t k, double alpha, const double* a, int64_t rs_a, int64_t cs_a, int64_t batch_a,
                                     const double* b, int64_t rs_b, int64_t cs_b, int64_t batch_b, double beta, double* c,
                                     int64_t rs_c, int64_t cs_c, int64_t batch_c, int64_t count);

/* ---- Plans: order x shape x type, compiled once, run many times ---- */

typedef struct samebits_splan samebits_splan;
typedef struct samebits_dplan samebits_dplan;

samebits_status samebits_splan_create(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                      int64_t k, samebits_splan** plan);
samebits_status samebits_dplan_create(const samebits_order* order, const samebits_context* context, int64_t m, int64_t n,
                                      int64_t k, samebits_dplan** plan);
void samebits_splan_free(samebits_splan* plan);
void samebits_dplan_free(samebits_dplan* plan);
/* Which kernel runs: "sgemm_avx512_12x32_fma", "reference (exact)". */
samebits_status samebits_splan_kernel(const samebits_splan* plan, char* buffer, size_t size, size_t* length);
samebits_status samebits_dplan_kernel(const samebits_dplan* plan, char* buffer, size_t size, size_t* length);
/* m, n, k must be the plan's. bias: NULL, or n values, stride_bias elements apart, added to each row. */
samebits_status samebits_splan_run(const samebits_splan* plan, int64_t m, int64_t n, int64_t k, float alpha, const float* a,
                                   int64_t rs_a, int64_t cs_a, const float* b, int64_t rs_b, int64_t cs_b, float beta, float* c,
                                   int64_t rs_c, int64_t cs_c, const float* bias, int64_t stride_bias);
samebits_status samebits_dplan_run(const samebits_dplan* plan, int64_t m, int64_t n, int64_t k, double alpha, const double* a,
                                   int64_t rs_a, int64_t cs_a, const double* b, int64_t rs_b, int64_t cs_b, double beta,
                                   double* c, int64_t rs_c, int64_t cs_c, const double* bias, int64_t stride_bias);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* SAMEBITS_SAMEBITS_H_ */
