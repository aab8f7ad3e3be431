// Tiles of matrices on the FP64 matrix units. All types are computed in double precision, complex products as four real
// ones.
#pragma once

#include "device/values.cuh"

namespace diagsparse::cuda {

// c += a b for a 16 x 4, a 4 x 8 and a 16 x 8 tile distributed over a warp.
inline __device__ void multiply_tile(double (&c)[4], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a0), "d"(a1), "d"(b));
#else
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a0), "d"(b));
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[2]), "+d"(c[3])
               : "d"(a1), "d"(b));
#endif
}

template <class T>
__device__ double part(T v, int which) {
  if constexpr (is_complex<T>) return which == 0 ? v.re : v.im;
  else return v;
}

// A 16 x 8 tile of C; im is used only if C is complex.
template <class T>
struct Tile {
  double re[4] = {};
  double im[is_complex<T> ? 4 : 1] = {};

  __device__ void add(T low, T high, T right) {
    multiply_tile(re, part(low, 0), part(high, 0), part(right, 0));
    if constexpr (is_complex<T>) {
      multiply_tile(im, low.re, high.re, right.im);
      multiply_tile(im, low.im, high.im, right.re);
      multiply_tile(re, -low.im, -high.im, right.im);
    }
  }
  __device__ T value(int which) const {
    using R = Real<T>;
    if constexpr (is_complex<T>) return {static_cast<R>(re[which]), static_cast<R>(im[which])};
    else return static_cast<R>(re[which]);
  }
};

}  // namespace diagsparse::cuda
