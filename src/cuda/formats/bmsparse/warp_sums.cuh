// How a warp sums products of blocks: lane l holds elements (l / 4, 2 (l % 4)) and the next one of the sums in
// registers.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse::cuda::bmsparse {

// The type of double precision to which values of T are converted.
template <class T>
using Wide = std::conditional_t<is_complex<T>, Complex<double>, double>;

// c += a b for an 8 x 4, a 4 x 8 and an 8 x 8 tile distributed over a warp.
__device__ inline void multiply_tile(double (&c)[2], double a, double b) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
}

// In float64, on the FP64 matrix units: each of two steps multiplies four columns of A's block with four rows of B's.
template <class T>
struct Sums {
  double re[2] = {}, im[is_complex<T> ? 2 : 1] = {};

  template <class U, class V>
  __device__ void add(const U (&a)[2], const V (&b)[2], const bool (&some)[2]) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      if (some[s]) add(a[s], b[s]);
    }
  }
  __device__ bool finite(int v) const {
    if constexpr (is_complex<T>) return isfinite(re[v]) && isfinite(im[v]);
    else return isfinite(re[v]);
  }
  __device__ T value(int v) const {
    if constexpr (is_complex<T>) return {static_cast<Real<T>>(re[v]), static_cast<Real<T>>(im[v])};
    else return static_cast<T>(re[v]);
  }

  template <class U, class V>
  __device__ void add(U a, V b) {
    if constexpr (!is_complex<U> && !is_complex<V>) {
      multiply_tile(re, a, b);
    } else if constexpr (!is_complex<V>) {
      multiply_tile(re, a.re, b);
      multiply_tile(im, a.im, b);
    } else if constexpr (!is_complex<U>) {
      multiply_tile(re, a, b.re);
      multiply_tile(im, a, b.im);
    } else {
      multiply_tile(re, a.re, b.re);
      multiply_tile(re, -static_cast<double>(a.im), b.im);
      multiply_tile(im, a.re, b.im);
      multiply_tile(im, a.im, b.re);
    }
  }
};

// Sums in float32 registers.
struct SingleSums {
  float sum[2] = {};

  __device__ bool finite(int v) const { return isfinite(sum[v]); }
  __device__ float value(int v) const { return sum[v]; }
};

// Sums in float32 of factors that are rounded to TF32, both steps at once: half of the unit multiplies zeros.
struct RoundedSums : SingleSums {
  __device__ void add(const float (&a)[2], const float (&b)[2], const bool (&some)[2]) {
    if (!some[0] && !some[1]) return;
    float below[2] = {};
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %6, %5, %6}, {%7, %8}, {%0, %1, %2, "
        "%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(rounded(a[0])), "r"(rounded(a[1])), "r"(0), "r"(rounded(b[0])), "r"(rounded(b[1])));
  }

 private:
  __device__ static unsigned rounded(float v) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
  }
};

}  // namespace diagsparse::cuda::bmsparse
