// Arithmetic with real and complex values for elimination: fused products, reciprocals, exchange among lanes.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse::cuda::tridiagonal {

// Solutions have to be verified if off-diagonal elements of eliminated rows exceed this multiple of the pivot, which in
// diagonally dominant matrices is at most 1; if a pivot is smaller than this, for rows with a main diagonal of 1; or if
// both ends of a chunk are coupled by more than this, so that rounding errors pass through it.
constexpr int kMostGrowth = 4;
constexpr float kLeastPivot = 1.0f / 16, kLeastCoupling = 0x1p-20f;

template <class T>
__device__ T minus(T v) {
  if constexpr (is_complex<T>) return {-v.re, -v.im};
  else return -v;
}
// sum - u v
template <class T>
__device__ T less_product(T sum, T u, T v) {
  if constexpr (is_complex<T>) {
    return {fma(-u.re, v.re, fma(u.im, v.im, sum.re)), fma(-u.re, v.im, fma(-u.im, v.re, sum.im))};
  } else {
    return fma(-u, v, sum);
  }
}

// 1 / v by Newton's method from the approximation of the hardware, without the slow path of a division; NaN if v is
// zero, subnormal or not finite, which callers have to check.
inline __device__ double unchecked_reciprocal(double v) {
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(v));
  y = fma(y, fma(-v, y, 1.0), y);
  return fma(y, fma(-v, y, 1.0), y);
}
inline __device__ float unchecked_reciprocal(float v) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(v));
  return fmaf(y, fmaf(-v, y, 1.0f), y);
}
template <class R>
__device__ Complex<R> unchecked_reciprocal(Complex<R> v) {  // without overflow in between
  const bool wide = fabs(v.re) >= fabs(v.im);
  const R large = wide ? v.re : v.im, little = wide ? v.im : v.re, ratio = little * unchecked_reciprocal(large);
  const R inverse = unchecked_reciprocal(fma(little, ratio, large));
  return wide ? Complex<R>{inverse, -ratio * inverse} : Complex<R>{ratio * inverse, -inverse};
}
template <class T>
__device__ Real<T> magnitude(T v) {
  if constexpr (is_complex<T>) return fabs(v.re) + fabs(v.im);
  else return fabs(v);
}
template <class T>
__device__ bool small(T v) {  // not NaN
  return magnitude(v) <= kMostGrowth;
}
template <class T>
__device__ bool nonzero(T v) {
  return !is_zero(v);
}

template <class T>
__device__ T shuffled_up(T v, int step) {
  if constexpr (is_complex<T>) return {__shfl_up_sync(~0u, v.re, step), __shfl_up_sync(~0u, v.im, step)};
  else return __shfl_up_sync(~0u, v, step);
}
template <class T>
__device__ T shuffled_down(T v, int step) {
  if constexpr (is_complex<T>) return {__shfl_down_sync(~0u, v.re, step), __shfl_down_sync(~0u, v.im, step)};
  else return __shfl_down_sync(~0u, v, step);
}

}  // namespace diagsparse::cuda::tridiagonal
