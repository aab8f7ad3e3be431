// Sums that have the same bits each time: a fixed number of blocks add up their parts in a fixed order.
#pragma once

#include "device/launch.cuh"

namespace diagsparse::cuda::multigrid {

constexpr int kParts = 1024;  // blocks of a reduction

// The sum, or the maximum, over the threads of a block, in thread 0. NaN is a maximum.
template <bool Largest>
__device__ double reduced(double v) {
  __shared__ double warps[32];
  const auto combined = [](double a, double b) {
    if constexpr (Largest) return a >= b || a != a ? a : b;
    else return a + b;
  };
  for (int apart = 16; apart > 0; apart /= 2) v = combined(v, __shfl_down_sync(0xffffffff, v, apart));
  __syncthreads();  // the values of an earlier call have been read
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
  for (int apart = 16; apart > 0; apart /= 2) v = combined(v, __shfl_down_sync(0xffffffff, v, apart));
  return v;
}

// Calls f(i) for the elements of this thread.
template <class F>
__device__ void for_elements(int64 n, const F& f) {
  const int64 stride = static_cast<int64>(gridDim.x) * blockDim.x;
  int64 i = thread_index();
  for (; i + stride < n; i += 2 * stride) {  // two at once, so that more is read at the same time
    f(i);
    f(i + stride);
  }
  if (i < n) f(i);
}

// The same in two steps: f(i) reads, and what it returns is written by g(i, values). Four elements are read before any
// is written, although the compiler cannot know that they are different ones.
template <class F, class G>
__device__ void for_elements(int64 n, const F& f, const G& g) {
  constexpr int kAtOnce = 4;
  const int64 stride = static_cast<int64>(gridDim.x) * blockDim.x;
  int64 i = thread_index();
  for (; i + (kAtOnce - 1) * stride < n; i += kAtOnce * stride) {
    decltype(f(i)) values[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) values[k] = f(i + k * stride);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) g(i + k * stride, values[k]);
  }
  for (; i < n; i += stride) g(i, f(i));
}

}  // namespace diagsparse::cuda::multigrid
