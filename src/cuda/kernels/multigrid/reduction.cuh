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

// Calls f(i), which reads, and then g(i, value) with what it returned, which may write, for the elements of this
// thread. Some are read before any is written, although the compiler cannot know that they are different ones.
template <int AtOnce = 4, class F, class G>
__device__ void for_elements(int64 n, const F& f, const G& g) {
  const int64 piece = static_cast<int64>(AtOnce) * blockDim.x;
  for (int64 first = blockIdx.x * piece + threadIdx.x; first < n; first += gridDim.x * piece) {
    decltype(f(first)) values[AtOnce];
#pragma unroll
    for (int k = 0; k < AtOnce; ++k) {
      const int64 i = first + k * static_cast<int64>(blockDim.x);
      if (i < n) values[k] = f(i);
    }
#pragma unroll
    for (int k = 0; k < AtOnce; ++k) {
      const int64 i = first + k * static_cast<int64>(blockDim.x);
      if (i < n) g(i, values[k]);
    }
  }
}

// Calls f(i) for the elements of this thread.
template <class F>
__device__ void for_elements(int64 n, const F& f) {
  const int64 piece = 2 * static_cast<int64>(blockDim.x);
  for (int64 first = blockIdx.x * piece + threadIdx.x; first < n; first += gridDim.x * piece) {
    f(first);
    if (const int64 second = first + blockDim.x; second < n) f(second);
  }
}

// Enough blocks to read vectors at the speed of memory.
inline dim3 many(int64 n) { return blocks(n, 8); }

}  // namespace diagsparse::cuda::multigrid
