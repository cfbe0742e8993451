// SPDX-License-Identifier: Apache-2.0
// Plain C++: vectors are small arrays. Always built; the answer where no other set is supported.
#include <cmath>

#include "cpu/tile.h"

namespace samebits::cpu {
namespace {

template <class Value, int Width>
struct Plain {
  using T = Value;
  static constexpr int W = Width;
  struct Reg {
    T x[W];
  };
  using Mask = int;
  template <class F>
  static Reg each(F f) {
    Reg r;
    for (int l = 0; l < W; ++l) r.x[l] = f(l);
    return r;
  }
  static Reg zero() { return splat(0); }
  static Reg splat(T x) {
    return each([&](int) { return x; });
  }
  static Reg broadcast(const T* p) { return splat(*p); }
  static Reg load(const T* p) {
    return each([&](int l) { return p[l]; });
  }
  static Reg loadu(const T* p) { return load(p); }
  static Reg load_masked(const T* p, Mask n) {
    return each([&](int l) { return l < n ? p[l] : T(0); });
  }
  static void store(T* p, const Reg& r) { store_first(p, r, W); }
  static void storeu(T* p, const Reg& r) { store_first(p, r, W); }
  static void store_masked(T* p, Mask n, const Reg& r) { store_first(p, r, n); }
  static void store_first(T* p, const Reg& r, int n) {
    for (int l = 0; l < n; ++l) p[l] = r.x[l];
  }
  static Reg add(const Reg& a, const Reg& b) {
    return each([&](int l) { return a.x[l] + b.x[l]; });
  }
  static Mask mask(int n) { return n < W ? n : W; }
  [[gnu::always_inline]] static void prefetch(const T*) {}
  [[gnu::always_inline]] static void prefetch_far(const T*) {}
  static Reg fused(const Reg& c, const Reg& a, const Reg& b) {
    return each([&](int l) { return std::fma(a.x[l], b.x[l], c.x[l]); });
  }
  static Reg unfused(const Reg& c, const Reg& a, const Reg& b) {
    return each([&](int l) { return c.x[l] + a.x[l] * b.x[l]; });  // two roundings: built with -ffp-contract=off
  }
  static Reg fused(const Reg& c, const T* a, const Reg& b) { return fused(c, broadcast(a), b); }
  static Reg unfused(const Reg& c, const T* a, const Reg& b) { return unfused(c, broadcast(a), b); }
  static void transpose(Reg (&r)[W]) {
    for (int i = 0; i < W; ++i) {
      for (int j = 0; j < i; ++j) {
        const T t = r[i].x[j];
        r[i].x[j] = r[j].x[i];
        r[j].x[i] = t;
      }
    }
  }
};

template <class V>
constexpr KernelSet<typename V::T> make_set() {
  KernelSet<typename V::T> s;
  s.isa = "portable", s.width = V::W, s.rows = 4, s.vectors = 2;
  fill<V, 1, false, 4>(s.packed[1]);
  fill<V, 2, false, 4>(s.packed[2]);
  fill<V, 1, true, 1, 2, 4>(s.strided[1]);
  fill<V, 2, true, 1, 2, 4>(s.strided[2]);
  fill_sweep<V, 2, 1, 2, 4>(s.sweep);
  s.along_k = tile_along_k<V>;
  s.transpose = transpose_panel<V>;
  s.copy = copy_panel<V>;
  return s;
}
constexpr KernelSet<float> f32 = make_set<Plain<float, 4>>();
constexpr KernelSet<double> f64 = make_set<Plain<double, 4>>();

}  // namespace

template <>
const KernelSet<float>* portable_kernels() {
  return &f32;
}
template <>
const KernelSet<double>* portable_kernels() {
  return &f64;
}

}  // namespace samebits::cpu
