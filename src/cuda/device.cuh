// SPDX-License-Identifier: Apache-2.0
// The device language of our kernels: a few functions that nvcc compiles to single instructions and g++ to calls of the
// simulator. Kernels use these and plain C++, so that one source means the same arithmetic in both.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

#define SAMEBITS_DEVICE __device__ __forceinline__
#define SAMEBITS_KERNEL(threads, blocks) __global__ void __launch_bounds__(threads, blocks)

namespace samebits::cuda::gpu {

template <class T>
struct alignas(16) Vector {  // what one 16-byte access moves
  static constexpr int size = 16 / sizeof(T);
  T v[size];
};

SAMEBITS_DEVICE int thread_index() { return threadIdx.x; }
SAMEBITS_DEVICE int block_index() { return blockIdx.x; }
SAMEBITS_DEVICE int block_count() { return gridDim.x; }
SAMEBITS_DEVICE unsigned char* shared_memory() {
  extern __shared__ __align__(1024) unsigned char samebits_shared[];
  return samebits_shared;
}
SAMEBITS_DEVICE void sync_threads() { __syncthreads(); }

SAMEBITS_DEVICE float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
SAMEBITS_DEVICE double fma_rn(double a, double b, double c) { return __fma_rn(a, b, c); }
SAMEBITS_DEVICE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
SAMEBITS_DEVICE double mul_rn(double a, double b) { return __dmul_rn(a, b); }
SAMEBITS_DEVICE float add_rn(float a, float b) { return __fadd_rn(a, b); }
SAMEBITS_DEVICE double add_rn(double a, double b) { return __dadd_rn(a, b); }
SAMEBITS_DEVICE std::uint32_t bits_of(float x) { return __float_as_uint(x); }
SAMEBITS_DEVICE float float_of(std::uint32_t x) { return __uint_as_float(x); }

// x, computed anew wherever it is used: keeps what follows from it out of registers that would be held all the time.
SAMEBITS_DEVICE std::int64_t fresh(std::int64_t x) {
  asm volatile("" : "+l"(x));
  return x;
}
SAMEBITS_DEVICE int fresh(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

template <class T>
SAMEBITS_DEVICE T load(const T* p) {
  return *p;
}
template <class T>
SAMEBITS_DEVICE void store(T* p, const T& value) {
  *p = value;
}

SAMEBITS_DEVICE std::uint32_t shared_address(const void* p) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(p)); }

// Copies `valid` bytes and fills up to Bytes with zeros; valid = 0 reads nothing.
template <int Bytes>
SAMEBITS_DEVICE void copy_async(void* target, const void* source, int valid) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(target)), "l"(source), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(shared_address(target)), "l"(source), "r"(valid), "n"(Bytes) : "memory");
}
SAMEBITS_DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Until at most Pending groups of this thread are under way.
template <int Pending>
SAMEBITS_DEVICE void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

template <class T>
SAMEBITS_DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

// Four 8 x 4 matrices of 32-bit values; lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned) and
// gets element (l / 4, l % 4) of each.
SAMEBITS_DEVICE void load_matrices(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}

// d (16 x 8) += a (16 x 8) b (8 x 8), TF32 inputs. With g = lane / 4, t = lane % 4: d = (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1),
// a = (g, t) (g+8, t) (g, t+4) (g+8, t+4), b = (t, g) (t+4, g).
SAMEBITS_DEVICE void mma_tf32_k8(float* d, const std::uint32_t* a, const std::uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// The same with K = 4: a = (g, t) (g+8, t), b = (t, g).
SAMEBITS_DEVICE void mma_tf32_k4(float* d, const std::uint32_t* a, const std::uint32_t* b) {
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
// d (8 x 8) += a (8 x 4) b (4 x 8): d = (g, 2t) (g, 2t+1), a = (g, t), b = (t, g). A chain of fma, k ascending.
SAMEBITS_DEVICE void mma_f64(double* d, double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(d[0]), "+d"(d[1]) : "d"(a), "d"(b));
}

}  // namespace samebits::cuda::gpu
#define SAMEBITS_SIDE gpu

#else
#include "cuda/host/device.h"
#endif
