// What kernels of diagonals use: arithmetic, flags in global memory, and values of other multiprocessors.
#pragma once

#include "core/pivots.hpp"
#include "device/launch.cuh"
#include "kernels/triangles/triangle.hpp"

namespace diagsparse::cuda::triangles {

template <class T>
__device__ T minus_product(T sum, T a, T x) {
  const T p = multiply(a, x);
  if constexpr (is_complex<T>) return {sum.re - p.re, sum.im - p.im};
  else return sum - p;
}

// What the last step of a row does with its sum.
enum class Last { nothing, times_reciprocal, reciprocal };

// The result of a row. `inverse` is the reciprocal of its pivot.
template <class T>
__device__ T finished(Last last, T inverse, T sum) {
  if (last == Last::reciprocal) return reciprocal(sum);
  return last == Last::nothing ? sum : multiply(inverse, sum);
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
