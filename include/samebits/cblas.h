/* SPDX-License-Identifier: Apache-2.0 */
/* libsamebits_cblas.so: the BLAS routines gemm, gemv, dot and syrk, float and double, in an accumulation order that you choose.
 *
 * It exports cblas_sgemm, ... and the Fortran sgemm_, ..., each also with the prefix scipy_ and with the suffix 64_ (64-bit
 * integers), so that LD_PRELOADing it tries an order under an unchanged program. The order is that of this thread's last
 * samebits_cblas_set_order, else the environment's SAMEBITS_ORDER, else "fma". A profile, e.g. openblas(core=haswell), is
 * resolved for the shape of each call. Routines that it lacks come from the library behind it.
 *
 * BLAS has no way to return an error: a bad argument is reported on stderr and the call does nothing; where the order cannot be
 * used the result is filled with NaN as well, because other bits in its place would go unnoticed. */
#ifndef SAMEBITS_CBLAS_H_
#define SAMEBITS_CBLAS_H_

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* For this thread. NULL: back to SAMEBITS_ORDER. Returns 0, or a samebits_status when the text is no order (nothing changes). */
int samebits_cblas_set_order(const char* text);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif /* SAMEBITS_CBLAS_H_ */
