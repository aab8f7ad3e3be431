// Single elements of sampled products on the GPU: the products of a row of X and rows of Y, whose elements are
// contiguous.
#pragma once

#include "core/sampled.hpp"
#include "device/launch.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda::sampled {

// The rows of X or Y.
template <class T>
struct DenseRows {
  const T* data;
  int64 step;

  explicit DenseRows(const Dense& d) : data(d.as<T>()), step(d.row_stride) {}
  __device__ const T* operator[](int64 i) const { return data + i * step; }
};

// The sum over p of x[p] y[p], in this order, which a thread reads `Width` elements at a time; Width = 0: of single
// elements.
template <int Width, class T>
__device__ T row_product(const T* x, const T* y, int64 length) {
  if constexpr (Width == 0) {
    return multiply(load(x), load(y));
  } else {
    T sum{};
    for (int64 p = 0; p < length; p += Width) {
      if constexpr (Width == 1) {
        sum += multiply(load(x + p), load(y + p));
      } else {
        const uint4 left = __ldg(reinterpret_cast<const uint4*>(x + p)),
                    right = __ldg(reinterpret_cast<const uint4*>(y + p));
        T some_x[Width], some_y[Width];
        memcpy(some_x, &left, sizeof(left));
        memcpy(some_y, &right, sizeof(right));
#pragma unroll
        for (int k = 0; k < Width; ++k) sum += multiply(some_x[k], some_y[k]);
      }
    }
    return sum;
  }
}

// Calls f with the width in which rows of X and Y are read: 0, 1 or the elements of 16 bytes.
template <class T, class F>
void with_width(const Dense& x, const Dense& y, const F& f) {
  constexpr int packet = 16 / static_cast<int>(sizeof(T));
  const auto aligned = [](const Dense& d) {
    return reinterpret_cast<std::uintptr_t>(d.data) % 16 == 0 && d.row_stride % packet == 0 && d.cols % packet == 0;
  };
  if (x.cols == 1) return f(std::integral_constant<int, 0>{});
  if constexpr (packet > 1) {
    if (aligned(x) && aligned(y)) return f(std::integral_constant<int, packet>{});
  }
  f(std::integral_constant<int, 1>{});
}

}  // namespace diagsparse::cuda::sampled
