/* SPDX-License-Identifier: Apache-2.0 */
/* The BLAS names against samebits_?gemm: every routine, layout, transpose and increment gives that order's bits. */
#include <math.h>
#include <samebits/cblas.h>
#include <samebits/samebits.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { Rows = 101, Columns = 102, N = 111, T = 112, Upper = 121, Lower = 122 };
void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
void cblas_dgemm64_(int, int, int, int64_t, int64_t, int64_t, double, const double*, int64_t, const double*, int64_t, double,
                    double*, int64_t);
void scipy_cblas_sgemv64_(int, int, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float, float*,
                          int64_t);
float cblas_sdot(int, const float*, int, const float*, int);
double scipy_ddot_64_(const int64_t*, const double*, const int64_t*, const double*, const int64_t*);
void cblas_ssyrk(int, int, int, int, int, float, const float*, int, float, float*, int);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void ssyrk_(const char*, const char*, const int*, const int*, const float*, const float*, const int*, const float*, float*,
            const int*);

enum { M = 7, Cols = 5, K = 37 };
static float a[64 * 64], b[64 * 64], want[64 * 64], got[64 * 64];
static double da[64 * 64], db[64 * 64], dwant[64 * 64], dgot[64 * 64];

static float noise(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / (1 << 23) - 1;
}

static void all_routines(const char* text) {
  samebits_order* order = NULL;
  int i, j, m = M, n = Cols, k = K, ld = 64;
  const int64_t long_k = K, two = 2;
  const float one = 1, half = 0.5f;
  check(samebits_order_parse(text, &order) == SAMEBITS_OK && samebits_cblas_set_order(text) == 0, text);

  /* Columns, A transposed: element (i, k) of A is a[i * 64 + k], (k, j) of B is b[k + 64 * j]. */
  memcpy(want, got, sizeof want);
  samebits_sgemm(order, NULL, M, Cols, K, 1, a, 64, 1, b, 1, 64, 0.5f, want, 1, 64);
  cblas_sgemm(Columns, T, N, M, Cols, K, 1, a, 64, b, 64, 0.5f, got, 64);
  check(memcmp(want, got, sizeof want) == 0, "cblas_sgemm, columns");
  samebits_sgemm(order, NULL, M, Cols, K, 1, a, 64, 1, b, 1, 64, 0.5f, want, 1, 64);
  sgemm_("T", "n", &m, &n, &k, &one, a, &ld, b, &ld, &half, got, &ld);
  check(memcmp(want, got, sizeof want) == 0, "sgemm_");
  samebits_dgemm(order, NULL, M, Cols, K, 1, da, 64, 1, db, 1, 64, 0, dwant, 64, 1);
  cblas_dgemm64_(Rows, N, T, M, Cols, K, 1, da, 64, db, 64, 0, dgot, 64);
  check(memcmp(dwant, dgot, sizeof dwant) == 0, "cblas_dgemm64_, rows");

  /* y backwards: its first element is the last in memory. */
  samebits_sgemm(order, NULL, M, 1, K, 1, a, 64, 1, b, 2, 1, 0, want + 3 * (M - 1), -3, 1);
  scipy_cblas_sgemv64_(Rows, N, M, K, 1, a, 64, b, 2, 0, got, -3);
  check(memcmp(want, got, sizeof want) == 0, "scipy_cblas_sgemv64_");

  samebits_sgemm(order, NULL, 1, 1, K, 1, a, 64, 1, b, 1, 1, 0, want, 1, 1);
  check(cblas_sdot(K, a, 1, b, 1) == want[0], "cblas_sdot");
  got[0] = want[0];
  samebits_dgemm(order, NULL, 1, 1, K, 1, da, 64, 2, db, 2, 1, 0, dwant, 1, 1);
  check(scipy_ddot_64_(&long_k, da, &two, db, &two) == dwant[0], "scipy_ddot_64_");
  dgot[0] = dwant[0];

  /* One triangle changes. */
  samebits_sgemm(order, NULL, M, M, K, 1, a, 64, 1, a, 1, 64, 0.5f, want, 64, 1);
  for (i = 0; i < M; i++)
    for (j = 0; j < i; j++) want[i * 64 + j] = got[i * 64 + j];
  cblas_ssyrk(Rows, Upper, N, M, K, 1, a, 64, 0.5f, got, 64);
  check(memcmp(want, got, sizeof want) == 0, "cblas_ssyrk");
  samebits_sgemm(order, NULL, M, M, K, 1, a, 64, 1, a, 1, 64, 0.5f, want, 64, 1);
  for (i = 0; i < M; i++)
    for (j = 0; j < i; j++) want[i * 64 + j] = got[i * 64 + j];
  ssyrk_("L", "T", &m, &k, &one, a, &ld, &half, got, &ld); /* columns and lower is rows and upper */
  check(memcmp(want, got, sizeof want) == 0, "ssyrk_");
  samebits_order_free(order);
}

/* Larger than one block of rows: the triangle is that of the product, whatever is around it. */
static void large_syrk(const char* text) {
  enum { Size = 230, Depth = 19 };
  float *x = malloc(sizeof(float) * Size * Depth), *product = malloc(sizeof(float) * Size * Size),
        *c = malloc(sizeof(float) * Size * Size);
  samebits_order* order = NULL;
  int i, j, upper, rows, right = 1;
  check(x && product && c, "memory");
  check(samebits_order_parse(text, &order) == SAMEBITS_OK && samebits_cblas_set_order(text) == 0, text);
  for (i = 0; i < Size * Depth; i++) x[i] = noise();
  for (upper = 0; upper < 2; upper++)
    for (rows = 0; rows < 2; rows++) {
      for (i = 0; i < Size * Size; i++) product[i] = c[i] = (float)(i % 13) / 3;
      if (rows) {
        samebits_sgemm(order, NULL, Size, Size, Depth, 1.5f, x, Depth, 1, x, 1, Depth, -0.5f, product, Size, 1);
        cblas_ssyrk(Rows, upper ? Upper : Lower, N, Size, Depth, 1.5f, x, Depth, -0.5f, c, Size);
      } else {
        samebits_sgemm(order, NULL, Size, Size, Depth, 1.5f, x, Depth, 1, x, 1, Depth, -0.5f, product, 1, Size);
        cblas_ssyrk(Columns, upper ? Upper : Lower, T, Size, Depth, 1.5f, x, Depth, -0.5f, c, Size);
      }
      for (i = 0; i < Size; i++)
        for (j = 0; j < Size; j++) {
          const int at = rows ? i * Size + j : i + j * Size, inside = upper ? j >= i : j <= i;
          const float expected = inside ? product[at] : (float)(at % 13) / 3;
          right &= memcmp(&c[at], &expected, sizeof expected) == 0;
        }
    }
  check(right, "a large cblas_ssyrk");
  samebits_order_free(order);
  free(x), free(product), free(c);
}

int main(int argc, char** argv) {
  int i;
  for (i = 0; i < 64 * 64; i++) {
    a[i] = noise();
    b[i] = noise();
    da[i] = noise() / 3;
    db[i] = noise() / 3;
  }
  if (argc > 1 && strcmp(argv[1], "bad-order") == 0) { /* SAMEBITS_ORDER is no order: NaN, not other bits */
    cblas_sgemm(Rows, N, N, M, Cols, K, 1, a, 64, b, 64, 0, got, 64);
    check(isnan(got[0]) && isnan(got[(M - 1) * 64 + Cols - 1]) && got[Cols] == 0, "C is NaN, and nothing beside it");
    check(isnan(cblas_sdot(K, a, 1, b, 1)), "dot is NaN");
    return failures != 0;
  }
  check(samebits_cblas_set_order("no order") == SAMEBITS_SYNTAX, "a text that is no order");
  all_routines("fma");
  all_routines("chunks(8) > mul");
  all_routines("lanes(4, fold=halves) > fma");
  large_syrk("fma");
  large_syrk("chunks(5) > mul");
  large_syrk("regions(rows=3:150:2 cols=7:200: pairwise(4) > mul; rest: fma)");
  /* An illegal argument: C stays. */
  memcpy(want, got, sizeof want);
  cblas_sgemm(Rows, N, N, M, Cols, K, 1, a, K - 1, b, 64, 0, got, 64);
  check(memcmp(want, got, sizeof want) == 0, "illegal lda");
  /* A, B and C in one matrix, as LAPACK calls it: their elements are distinct. */
  memcpy(want, a, sizeof want);
  memcpy(got, a, sizeof got);
  samebits_cblas_set_order(NULL);
  samebits_sgemm(NULL, NULL, 8, 8, 8, -1, a + 8, 1, 64, a + 8 * 64, 1, 64, 1, want + 8 * 64 + 8, 1, 64);
  cblas_sgemm(Columns, N, N, 8, 8, 8, -1, got + 8, 64, got + 8 * 64, 64, 1, got + 8 * 64 + 8, 64);
  check(memcmp(want, got, sizeof want) == 0, "blocks of one matrix");
  return failures != 0;
}
