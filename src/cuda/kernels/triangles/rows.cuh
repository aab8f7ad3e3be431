// What both kernels of diagonals use: the order of rows, flags in global memory, and values of other multiprocessors.
#pragma once

#include "device/launch.cuh"

namespace diagsparse::cuda::triangles {

// Row q of the order of substitution.
struct Rows {
  int64 count;
  bool lower;
  __host__ __device__ int64 row(int64 q) const { return lower ? q : count - 1 - q; }
  __host__ __device__ int64 sign() const { return lower ? -1 : 1; }  // of the way to rows that a row depends on
};

template <class T>
__device__ T minus_product(T sum, T a, T x) {
  const T p = multiply(a, x);
  if constexpr (is_complex<T>) return {sum.re - p.re, sum.im - p.im};
  else return sum - p;
}

// Flags in global memory: what was written before a release is seen after the acquire that reads it.
__device__ inline unsigned acquire(const unsigned* p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void release(unsigned* p, unsigned v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
// A value that another multiprocessor may have written.
template <class T>
__device__ T from_l2(const T* p) {
  if constexpr (is_complex<T>) return {__ldcg(&p->re), __ldcg(&p->im)};
  else return __ldcg(p);
}

}  // namespace diagsparse::cuda::triangles
