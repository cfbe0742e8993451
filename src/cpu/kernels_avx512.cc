// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, DQ, BW, VL). 14 x 2 vectors: 28 accumulators, two vectors of B, one broadcast, of 32 registers.
#include "cpu/tile.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "cpu/transpose.h"
#define SAMEBITS_HAVE_AVX512
#endif

namespace samebits::cpu {

#ifdef SAMEBITS_HAVE_AVX512
namespace {

// One-instruction asm: gcc otherwise hoists multiplications and spills.
struct F32 {
  using T = float;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int W = 16;
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg splat(float x) { return _mm512_set1_ps(x); }
  [[gnu::always_inline]] static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Reg load(const float* p) { return _mm512_load_ps(p); }
  static Reg loadu(const float* p) { return _mm512_loadu_ps(p); }
  static Reg load_masked(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
  static void store(float* p, Reg x) { _mm512_store_ps(p, x); }
  static void storeu(float* p, Reg x) { _mm512_storeu_ps(p, x); }
  static void store_masked(float* p, Mask m, Reg x) { _mm512_mask_storeu_ps(p, m, x); }
  static void store_first(float* p, Reg x, int n) { _mm512_mask_storeu_ps(p, mask(n), x); }
  static Reg add(Reg x, Reg y) { return _mm512_add_ps(x, y); }
  static Mask mask(int n) { return Mask((1u << n) - 1); }
  [[gnu::always_inline]] static void prefetch(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void prefetch_far(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulps %3, %2, %1\n\tvaddps %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(a), "v"(b));
    return c;
  }
  // The same with a broadcast operand from memory.
  [[gnu::always_inline]] static Reg fused(Reg c, const float* a, Reg b) {
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*a));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, const float* a, Reg b) {
    Reg product;
    asm("vmulps %3%{1to16%}, %2, %1\n\tvaddps %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(b), "m"(*a));
    return c;
  }
  // 16 x 16: pairs of rows, pairs of pairs, then 128-bit quarters twice.
  [[gnu::always_inline]] static void transpose(Reg (&r)[16]) {
    Reg t[16];
    unroll<8>([&](auto i) {
      t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    });
    unroll<4>([&](auto i) {
      const auto pd = [](Reg x) { return _mm512_castps_pd(x); };
      const auto ps = [](__m512d x) { return _mm512_castpd_ps(x); };
      r[4 * i + 0] = ps(_mm512_unpacklo_pd(pd(t[4 * i]), pd(t[4 * i + 2])));
      r[4 * i + 1] = ps(_mm512_unpackhi_pd(pd(t[4 * i]), pd(t[4 * i + 2])));
      r[4 * i + 2] = ps(_mm512_unpacklo_pd(pd(t[4 * i + 1]), pd(t[4 * i + 3])));
      r[4 * i + 3] = ps(_mm512_unpackhi_pd(pd(t[4 * i + 1]), pd(t[4 * i + 3])));
    });
    unroll<4>([&](auto i) {  // r[4g + i] holds columns i, 4+i, 8+i, 12+i of rows 4g .. 4g+3
      t[i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0x88);
      t[4 + i] = _mm512_shuffle_f32x4(r[i], r[4 + i], 0xdd);
      t[8 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0x88);
      t[12 + i] = _mm512_shuffle_f32x4(r[8 + i], r[12 + i], 0xdd);
    });
    unroll<4>([&](auto i) {
      r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
      r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
      r[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
      r[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xdd);
    });
  }
};

struct F64 {
  using T = double;
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int W = 8;
  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg splat(double x) { return _mm512_set1_pd(x); }
  [[gnu::always_inline]] static Reg broadcast(const double* p) { return _mm512_set1_pd(*p); }
  static Reg load(const double* p) { return _mm512_load_pd(p); }
  static Reg loadu(const double* p) { return _mm512_loadu_pd(p); }
  static Reg load_masked(const double* p, Mask m) { return _mm512_maskz_loadu_pd(m, p); }
  static void store(double* p, Reg x) { _mm512_store_pd(p, x); }
  static void storeu(double* p, Reg x) { _mm512_storeu_pd(p, x); }
  static void store_masked(double* p, Mask m, Reg x) { _mm512_mask_storeu_pd(p, m, x); }
  static void store_first(double* p, Reg x, int n) { _mm512_mask_storeu_pd(p, mask(n), x); }
  static Reg add(Reg x, Reg y) { return _mm512_add_pd(x, y); }
  static Mask mask(int n) { return Mask((1u << n) - 1); }
  [[gnu::always_inline]] static void prefetch(const double* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T0);
  }
  [[gnu::always_inline]] static void prefetch_far(const double* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulpd %3, %2, %1\n\tvaddpd %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(a), "v"(b));
    return c;
  }
  // The same with a broadcast operand from memory.
  [[gnu::always_inline]] static Reg fused(Reg c, const double* a, Reg b) {
    asm("vfmadd231pd %2%{1to8%}, %1, %0" : "+v"(c) : "v"(b), "m"(*a));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, const double* a, Reg b) {
    Reg product;
    asm("vmulpd %3%{1to8%}, %2, %1\n\tvaddpd %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(b), "m"(*a));
    return c;
  }
  [[gnu::always_inline]] static void transpose(Reg (&r)[8]) {
    Reg t[8];
    unroll<4>([&](auto i) {
      t[2 * i] = _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]);
      t[2 * i + 1] = _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]);
    });
    unroll<2>([&](auto i) {  // t[2g + i]: columns i, 2+i, 4+i, 6+i of rows 2g, 2g+1
      r[i] = _mm512_shuffle_f64x2(t[i], t[2 + i], 0x88);
      r[2 + i] = _mm512_shuffle_f64x2(t[i], t[2 + i], 0xdd);
      r[4 + i] = _mm512_shuffle_f64x2(t[4 + i], t[6 + i], 0x88);
      r[6 + i] = _mm512_shuffle_f64x2(t[4 + i], t[6 + i], 0xdd);
    });
    unroll<2>([&](auto i) {
      t[i] = _mm512_shuffle_f64x2(r[i], r[4 + i], 0x88);
      t[4 + i] = _mm512_shuffle_f64x2(r[i], r[4 + i], 0xdd);
      t[2 + i] = _mm512_shuffle_f64x2(r[2 + i], r[6 + i], 0x88);
      t[6 + i] = _mm512_shuffle_f64x2(r[2 + i], r[6 + i], 0xdd);
    });
    unroll<8>([&](auto i) { r[i] = t[i]; });
  }
};

// 256-bit vectors with AVX-512's masks and registers: for results of no more columns.
struct F32Half {
  using T = float;
  using Reg = __m256;
  using Mask = __mmask8;
  static constexpr int W = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg splat(float x) { return _mm256_set1_ps(x); }
  [[gnu::always_inline]] static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg load(const float* p) { return _mm256_load_ps(p); }
  static Reg loadu(const float* p) { return _mm256_loadu_ps(p); }
  static Reg load_masked(const float* p, Mask m) { return _mm256_maskz_loadu_ps(m, p); }
  static void store(float* p, Reg x) { _mm256_store_ps(p, x); }
  static void storeu(float* p, Reg x) { _mm256_storeu_ps(p, x); }
  static void store_masked(float* p, Mask m, Reg x) { _mm256_mask_storeu_ps(p, m, x); }
  static Reg add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  [[gnu::always_inline]] static void transpose(Reg (&r)[8]) { transpose_8x8(r); }
  static Mask mask(int n) { return Mask((1u << n) - 1); }
  [[gnu::always_inline]] static void prefetch(const float*) {}
  [[gnu::always_inline]] static void prefetch_far(const float* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulps %3, %2, %1\n\tvaddps %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(a), "v"(b));
    return c;
  }
  // The same with a broadcast operand from memory.
  [[gnu::always_inline]] static Reg fused(Reg c, const float* a, Reg b) {
    asm("vfmadd231ps %2%{1to8%}, %1, %0" : "+v"(c) : "v"(b), "m"(*a));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, const float* a, Reg b) {
    Reg product;
    asm("vmulps %3%{1to8%}, %2, %1\n\tvaddps %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(b), "m"(*a));
    return c;
  }
};

struct F64Half {
  using T = double;
  using Reg = __m256d;
  using Mask = __mmask8;
  static constexpr int W = 4;
  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg splat(double x) { return _mm256_set1_pd(x); }
  [[gnu::always_inline]] static Reg broadcast(const double* p) { return _mm256_broadcast_sd(p); }
  static Reg load(const double* p) { return _mm256_load_pd(p); }
  static Reg loadu(const double* p) { return _mm256_loadu_pd(p); }
  static Reg load_masked(const double* p, Mask m) { return _mm256_maskz_loadu_pd(m, p); }
  static void store(double* p, Reg x) { _mm256_store_pd(p, x); }
  static void storeu(double* p, Reg x) { _mm256_storeu_pd(p, x); }
  static void store_masked(double* p, Mask m, Reg x) { _mm256_mask_storeu_pd(p, m, x); }
  static Reg add(Reg x, Reg y) { return _mm256_add_pd(x, y); }
  static Mask mask(int n) { return Mask((1u << n) - 1); }
  [[gnu::always_inline]] static void prefetch(const double*) {}
  [[gnu::always_inline]] static void prefetch_far(const double* p) {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
  }
  [[gnu::always_inline]] static Reg fused(Reg c, Reg a, Reg b) {
    asm("vfmadd231pd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, Reg a, Reg b) {
    Reg product;
    asm("vmulpd %3, %2, %1\n\tvaddpd %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(a), "v"(b));
    return c;
  }
  // The same with a broadcast operand from memory.
  [[gnu::always_inline]] static Reg fused(Reg c, const double* a, Reg b) {
    asm("vfmadd231pd %2%{1to4%}, %1, %0" : "+v"(c) : "v"(b), "m"(*a));
    return c;
  }
  [[gnu::always_inline]] static Reg unfused(Reg c, const double* a, Reg b) {
    Reg product;
    asm("vmulpd %3%{1to4%}, %2, %1\n\tvaddpd %1, %0, %0" : "+v"(c), "=&v"(product) : "v"(b), "m"(*a));
    return c;
  }
};

template <class Half>
constexpr KernelSet<typename Half::T> make_half() {
  KernelSet<typename Half::T> s;
  s.isa = "avx512", s.width = Half::W;
  fill<Half, 1, false, 2, 4, 6, 8, 10, 12, 14>(s.packed[1]);
  fill<Half, 1, true, 1, 2, 4, 6, 8, 10, 12, 14, 16>(s.strided[1]);
  return s;
}

// Along: vectors of at most eight values.
template <class V, class Along>
constexpr KernelSet<typename V::T> make_set(const KernelSet<typename V::T>* half) {
  KernelSet<typename V::T> s;
  s.isa = "avx512", s.width = V::W, s.rows = 14, s.vectors = 2, s.narrow = half;
  fill<V, 1, false, 2, 4, 6, 8, 10, 12, 14>(s.packed[1]);
  fill<V, 2, false, 2, 4, 6, 8, 10, 12, 14>(s.packed[2]);
  fill<V, 1, true, 1, 2, 4, 6, 8, 10, 12, 14, 16>(s.strided[1]);
  fill<V, 2, true, 1, 2, 4, 6, 8, 10, 12, 14>(s.strided[2]);
  fill<V, 4, true, 1, 2, 4, 6>(s.strided[4]);
  fill<V, 8, true, 1, 2, 3>(s.strided[8]);
  fill_sweep<V, 2, 1, 2, 4, 6, 8, 10, 12>(s.sweep);
  s.along_k = tile_along_k<Along>;
  s.transpose = transpose_panel<V>;
  s.copy = copy_panel<V>;
  return s;
}
constexpr KernelSet<float> f32_half = make_half<F32Half>();
constexpr KernelSet<double> f64_half = make_half<F64Half>();
constexpr KernelSet<float> f32 = make_set<F32, F32Half>(&f32_half);
constexpr KernelSet<double> f64 = make_set<F64, F64>(&f64_half);

}  // namespace

template <>
const KernelSet<float>* avx512_kernels() {
  return &f32;
}
template <>
const KernelSet<double>* avx512_kernels() {
  return &f64;
}
#else
template <>
const KernelSet<float>* avx512_kernels() {
  return nullptr;
}
template <>
const KernelSet<double>* avx512_kernels() {
  return nullptr;
}
#endif

}  // namespace samebits::cpu
