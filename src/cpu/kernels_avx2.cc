// SPDX-License-Identifier: Apache-2.0
// AVX2 and FMA. 6 x 2 vectors: 12 accumulators, two vectors of B, one broadcast, one product, of 16 registers.
#include "cpu/tile.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "cpu/transpose.h"
#define SAMEBITS_HAVE_AVX2
#endif

namespace samebits::cpu {

#ifdef SAMEBITS_HAVE_AVX2
namespace {

// One-instruction asm: gcc otherwise hoists multiplications and spills.
struct F32 {
  using T = float;
  using Reg = __m256;
  using Mask = __m256i;
  static constexpr int W = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg splat(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const float* p) { return _mm256_load_ps(p); }
  static Reg loadu(const float* p) { return _mm256_loadu_ps(p); }
  static Reg load_masked(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
  static void store(float* p, Reg x) { _mm256_store_ps(p, x); }
  static void storeu(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static void store_masked(float* p, Mask m, Reg x) { _mm256_maskstore_ps(p, m, x); }
  static void store_first(float* p, Reg x, int n) {
    if (n == 6) {  // the width of a panel of A
      _mm_storeu_ps(p, _mm256_castps256_ps128(x));
      _mm_storel_pi(reinterpret_cast<__m64*>(p + 4), _mm256_extractf128_ps(x, 1));
    } else {
      _mm256_maskstore_ps(p, mask(n), x);
    }
  }
  static Reg add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  static Mask mask(int n) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
  [[gnu::always_inline]] static void prefetch(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void prefetch_far(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulps %3, %2, %1\n\tvaddps %1, %0, %0" : "+x"(c), "=&x"(product) : "x"(a), "x"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg fused(Reg c, const float* a, Reg b) { return fused(c, broadcast(a), b); }
  [[gnu::always_inline]] static Reg unfused(Reg c, const float* a, Reg b) { return unfused(c, broadcast(a), b); }
  [[gnu::always_inline]] static void transpose(Reg (&r)[8]) { transpose_8x8(r); }
};

struct F64 {
  using T = double;
  using Reg = __m256d;
  using Mask = __m256i;
  static constexpr int W = 4;
  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg splat(double x) { return _mm256_set1_pd(x); }
  [[gnu::always_inline]] static Reg broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Reg load(const double* p) { return _mm256_load_pd(p); }
  static Reg loadu(const double* p) { return _mm256_loadu_pd(p); }
  static Reg load_masked(const double* p, Mask m) { return _mm256_maskload_pd(p, m); }
  static void store(double* p, Reg x) { _mm256_store_pd(p, x); }
  static void storeu(double* p, Reg x) { _mm256_storeu_pd(p, x); }
  static void store_masked(double* p, Mask m, Reg x) { _mm256_maskstore_pd(p, m, x); }
  static void store_first(double* p, Reg x, int n) {
    if (n == 2) {  // the end of a panel of A
      _mm_storeu_pd(p, _mm256_castpd256_pd128(x));
    } else {
      _mm256_maskstore_pd(p, mask(n), x);
    }
  }
  static Reg add(Reg x, Reg y) { return _mm256_add_pd(x, y); }
  static Mask mask(int n) { return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3)); }
  [[gnu::always_inline]] static void prefetch(const double* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void prefetch_far(const double* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulpd %3, %2, %1\n\tvaddpd %1, %0, %0" : "+x"(c), "=&x"(product) : "x"(a), "x"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg fused(Reg c, const double* a, Reg b) { return fused(c, broadcast(a), b); }
  [[gnu::always_inline]] static Reg unfused(Reg c, const double* a, Reg b) { return unfused(c, broadcast(a), b); }
  [[gnu::always_inline]] static void transpose(Reg (&r)[4]) {
    const Reg t0 = _mm256_unpacklo_pd(r[0], r[1]), t1 = _mm256_unpackhi_pd(r[0], r[1]);
    const Reg t2 = _mm256_unpacklo_pd(r[2], r[3]), t3 = _mm256_unpackhi_pd(r[2], r[3]);
    r[0] = _mm256_permute2f128_pd(t0, t2, 0x20);
    r[1] = _mm256_permute2f128_pd(t1, t3, 0x20);
    r[2] = _mm256_permute2f128_pd(t0, t2, 0x31);
    r[3] = _mm256_permute2f128_pd(t1, t3, 0x31);
  }
};

template <class V>
constexpr KernelSet<typename V::T> make_set() {
  KernelSet<typename V::T> s;
  s.isa = "avx2", s.width = V::W, s.rows = 6, s.vectors = 2;
  fill<V, 1, false, 2, 4, 6>(s.packed[1]);
  fill<V, 2, false, 2, 4, 6>(s.packed[2]);
  fill<V, 1, true, 1, 2, 4, 6, 8, 10, 12>(s.strided[1]);
  fill<V, 2, true, 1, 2, 4>(s.strided[2]);
  fill<V, 4, true, 1, 2>(s.strided[4]);
  fill<V, 8, true, 1>(s.strided[8]);
  fill_sweep<V, 2, 1, 2, 4>(s.sweep);
  s.along_k = tile_along_k<V>;
  s.transpose = transpose_panel<V>;
  s.copy = copy_panel<V>;
  return s;
}
constexpr KernelSet<float> f32 = make_set<F32>();
constexpr KernelSet<double> f64 = make_set<F64>();

}  // namespace

template <>
const KernelSet<float>* avx2_kernels() {
  return &f32;
}
template <>
const KernelSet<double>* avx2_kernels() {
  return &f64;
}
#else
template <>
const KernelSet<float>* avx2_kernels() {
  return nullptr;
}
template <>
const KernelSet<double>* avx2_kernels() {
  return nullptr;
}
#endif

}  // namespace samebits::cpu
