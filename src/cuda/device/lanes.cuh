// Sums of the lanes of a warp.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse::cuda {

// The sum over `lanes` neighbouring lanes, in the first of them, always in the same order. All lanes of the warp call
// it.
template <class T>
__device__ T sum_of_lanes(T v, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) {
    if constexpr (is_complex<T>) {
      v += T{__shfl_down_sync(0xffffffffu, v.re, step), __shfl_down_sync(0xffffffffu, v.im, step)};
    } else {
      v += __shfl_down_sync(0xffffffffu, v, step);
    }
  }
  return v;
}
template <int Lanes, class T>
__device__ T sum_of_lanes(T v) {
  return sum_of_lanes(v, Lanes);
}

}  // namespace diagsparse::cuda
