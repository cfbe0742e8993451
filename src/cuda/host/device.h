// SPDX-License-Identifier: Apache-2.0
// device.cuh for the simulator.
#pragma once

#include <bit>
#include <cmath>

#include "cuda/host/simulator.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // unroll

#define SAMEBITS_DEVICE inline
#define SAMEBITS_KERNEL(threads, blocks) void

namespace samebits::cuda::sim {

template <class T>
struct alignas(16) Vector {
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

inline int thread_index() { return position.thread; }
inline int block_index() { return position.block; }
inline int block_count() { return position.blocks; }
inline void sync_threads(Site site = Site::current()) { barrier(site); }

inline float fma_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float mul_rn(float a, float b) { return a * b; }
inline double mul_rn(double a, double b) { return a * b; }
inline float add_rn(float a, float b) { return a + b; }
inline double add_rn(double a, double b) { return a + b; }
inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float float_of(std::uint32_t x) { return std::bit_cast<float>(x); }

inline std::int64_t fresh(std::int64_t x) { return x; }
inline int fresh(int x) { return x; }

template <class T>
inline T load(const T* p, Site site = Site::current()) {
  access(p, sizeof(T), site);
  return *p;
}
template <class T>
inline void store(T* p, const T& value, Site site = Site::current()) {
  access(p, sizeof(T), site);
  *p = value;
}

template <int Bytes>
inline void copy_async(void* target, const void* source, int valid, Site site = Site::current()) {
  copy_async(target, source, Bytes, valid, site);
}
template <int Pending>
inline void copy_wait() {
  copy_wait(Pending);
}

template <class T>
T shuffle_xor(T value, int mask, Site site = Site::current());
void exchange_rows(std::uint32_t* r, const std::uint32_t* row, const Site& site);
inline void load_matrices(std::uint32_t (&r)[4], const void* row, Site site = Site::current()) {
  access(row, 16, site);
  std::uint32_t values[4];  // read here, where ThreadSanitizer sees it
  for (int i = 0; i < 4; ++i) values[i] = static_cast<const std::uint32_t*>(row)[i];
  exchange_rows(r, values, site);
}
void mma_tf32_k8(float* d, const std::uint32_t* a, const std::uint32_t* b, Site site = Site::current());
void mma_tf32_k4(float* d, const std::uint32_t* a, const std::uint32_t* b, Site site = Site::current());
void mma_f64(double* d, double a, double b, Site site = Site::current());

template <class T>
T shuffle_xor(T value, int mask, Site site) {
  struct Lane {
    T value;
    int mask;
    T result;
  } lane{value, mask, value};
  warp_collective(
      &lane,
      [](void* const* lanes) {
        for (int l = 0; l < 32; ++l) {
          auto* lane = static_cast<Lane*>(lanes[l]);
          lane->result = static_cast<const Lane*>(lanes[l ^ lane->mask])->value;
        }
      },
      site);
  return lane.result;
}

}  // namespace samebits::cuda::sim
#define SAMEBITS_SIDE sim
