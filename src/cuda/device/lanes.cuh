// Sums over the lanes of a warp.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse::cuda {

// The value of the lane `step` further on. All lanes of the warp call it.
template <class T>
__device__ T of_lane_after(T v, int step) {
  if constexpr (is_complex<T>) {
    return {__shfl_down_sync(0xffffffffu, v.re, step), __shfl_down_sync(0xffffffffu, v.im, step)};
  } else {
    return __shfl_down_sync(0xffffffffu, v, step);
  }
}

// The sum over `lanes` neighbouring lanes, or over those of them that are a multiple of `apart` from the first, which
// gets the result; always in the same order. All lanes of the warp call it; both arguments are powers of two.
template <class T>
__device__ T sum_of_lanes(T v, int lanes, int apart = 1) {
  for (int step = lanes / 2; step >= apart; step /= 2) v += of_lane_after(v, step);
  return v;
}
template <int Lanes, class T>
__device__ T sum_of_lanes(T v) {
  return sum_of_lanes(v, Lanes);
}

}  // namespace diagsparse::cuda
