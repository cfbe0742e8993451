/* SPDX-License-Identifier: Apache-2.0 */
#include <samebits/samebits.h>
#include <string.h>

#include "check.h"

static const float xs[3] = {1e8f, 1.0f, -1e8f};
static const float ones[3] = {1, 1, 1};

static void orders(void) {
  samebits_order *order = NULL, *chain = NULL;
  char text[64];
  size_t length = 0;
  int same = -1;
  check(samebits_order_parse("chunks(2)>fma", &order) == SAMEBITS_OK, "parse");
  check(samebits_order_text(order, text, sizeof text, &length) == SAMEBITS_OK && strcmp(text, "chunks(2) > fma") == 0 &&
            length == strlen(text), "canonical text");
  check(samebits_order_text(order, text, 5, &length) == SAMEBITS_OK && strcmp(text, "chun") == 0 && length == 15, "cut text");
  check(samebits_order_text(order, NULL, 0, &length) == SAMEBITS_OK && length == 15, "length only");
  check(samebits_order_tree(order, 4, text, sizeof text, NULL) == SAMEBITS_OK && strchr(text, '+') != NULL, "tree");
  check(samebits_order_describe(order, text, sizeof text, NULL) == SAMEBITS_OK && text[0] != 0, "description");
  check(samebits_order_parse("fma", &chain) == SAMEBITS_OK, "parse fma");
  check(samebits_order_equivalent(order, chain, 2, &same) == SAMEBITS_OK && same == 1, "equivalent at 2");
  check(samebits_order_equivalent(order, NULL, 4, &same) == SAMEBITS_OK && same == 0, "not equivalent at 4; NULL is fma");
  samebits_order_free(order);
  samebits_order_free(chain);
  samebits_order_free(NULL);

  order = NULL;
  check(samebits_order_parse("chunks(2) > fmaa", &order) == SAMEBITS_SYNTAX && order == NULL, "syntax error");
  check(samebits_error_column() == 13 && samebits_error_message()[0] != 0, "column and message");
  check(samebits_order_parse(NULL, &order) == SAMEBITS_INVALID_ARGUMENT, "NULL text");
  check(samebits_order_text(NULL, NULL, 4, NULL) == SAMEBITS_INVALID_ARGUMENT, "NULL buffer with a size");
}

static void products(void) {
  samebits_order* order = NULL;
  float c[2] = {-1, -1};
  const double a[2] = {1, 2}, b[2] = {3, 4};
  double d[2] = {100, 100};
  check(samebits_order_parse("tree(0 + 2 + 1) > mul", &order) == SAMEBITS_OK, "parse");
  check(samebits_sgemm(order, NULL, 1, 1, 3, 1, xs, 3, 1, ones, 1, 1, 0, c, 1, 1) == SAMEBITS_OK && c[0] == 1, "explicit tree");
  check(samebits_sgemm(NULL, NULL, 1, 1, 3, 1, xs, 3, 1, ones, 1, 1, 0, c, 1, 1) == SAMEBITS_OK && c[0] == 0, "default order");
  check(samebits_dgemm(NULL, NULL, 1, 1, 2, 2, a, 2, 1, b, 1, 1, 1, d, 1, 1) == SAMEBITS_OK && d[0] == 122, "alpha and beta");
  check(samebits_sgemm(order, NULL, 1, 1, 2, 1, xs, 3, 1, ones, 1, 1, 0, c, 1, 1) == SAMEBITS_INVALID_ARGUMENT && c[0] == 0,
        "a tree for another K is an error, C stays");
  check(samebits_sgemm(NULL, NULL, 1, 1, -3, 1, xs, 3, 1, ones, 1, 1, 0, c, 1, 1) == SAMEBITS_INVALID_ARGUMENT, "negative size");
  check(samebits_sgemm(NULL, NULL, 1, 1, 3, 1, NULL, 3, 1, ones, 1, 1, 0, c, 1, 1) == SAMEBITS_INVALID_ARGUMENT, "NULL A");
  check(samebits_dgemm(NULL, NULL, 1, 1, 2, 1, d, 2, 1, b, 1, 1, 0, d, 1, 1) == SAMEBITS_INVALID_ARGUMENT, "C overlaps A");
  check(samebits_sgemm_batch(order, NULL, 1, 1, 3, 1, xs, 3, 1, 0, ones, 1, 1, 0, 0, c, 1, 1, 1, 2) == SAMEBITS_OK &&
            c[0] == 1 && c[1] == 1, "batch");
  check(samebits_dgemm_batch(NULL, NULL, 1, 1, 1, 1, a, 1, 1, 1, b, 1, 1, 1, 0, d, 1, 1, 1, 2) == SAMEBITS_OK && d[0] == 3 &&
            d[1] == 8, "double batch");
  samebits_order_free(order);
}

static void plans(void) {
  samebits_context* context = NULL;
  samebits_splan* plan = NULL;
  samebits_dplan* dplan = NULL;
  const float bias = 0.5f;
  const double a[2] = {1, 2}, b[2] = {3, 4};
  double d = 0;
  char kernel[80];
  float c = -1;
  check(samebits_context_create(2, "no-such-isa", &context) != SAMEBITS_OK && context == NULL, "unknown isa");
  check(samebits_context_create(-1, NULL, &context) == SAMEBITS_INVALID_ARGUMENT, "negative threads");
  check(samebits_context_create(2, NULL, &context) == SAMEBITS_OK, "context");
  check(samebits_splan_create(NULL, context, 1, 1, 3, &plan) == SAMEBITS_OK, "plan");
  check(samebits_splan_kernel(plan, kernel, sizeof kernel, NULL) == SAMEBITS_OK && kernel[0] != 0, "kernel");
  check(samebits_splan_run(plan, 1, 1, 3, 1, xs, 3, 1, ones, 1, 1, 0, &c, 1, 1, &bias, 1) == SAMEBITS_OK && c == 0.5f, "run");
  check(samebits_splan_run(plan, 1, 1, 2, 1, xs, 3, 1, ones, 1, 1, 0, &c, 1, 1, NULL, 1) == SAMEBITS_INVALID_ARGUMENT,
        "another shape than the plan's");
  check(samebits_dplan_create(NULL, context, 1, 1, 2, &dplan) == SAMEBITS_OK, "double plan");
  check(samebits_dplan_run(dplan, 1, 1, 2, 1, a, 2, 1, b, 1, 1, 0, &d, 1, 1, NULL, 1) == SAMEBITS_OK && d == 11, "double run");
  samebits_splan_free(plan);
  samebits_dplan_free(dplan);
  samebits_context_free(context);
}

static void kernels(void) {
  samebits_kernel kernel;
  size_t i, usable = 0;
  for (i = 0; i < samebits_kernel_count(); i++) {
    check(samebits_kernel_get(i, &kernel) == SAMEBITS_OK && kernel.name[0] && kernel.isa[0], "kernel");
    usable += kernel.built && kernel.supported;
  }
  check(usable > 0, "some kernel can run");
  check(samebits_kernel_get(i, &kernel) == SAMEBITS_INVALID_ARGUMENT, "past the last kernel");
}

int main(void) {
  check(strcmp(samebits_version(), "0.1.0") == 0, "version");
  check(strcmp(samebits_status_name(SAMEBITS_SYNTAX), "syntax error") == 0, "status name");
  orders();
  products();
  plans();
  kernels();
  return failures != 0;
}
