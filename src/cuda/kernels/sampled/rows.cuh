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

// How the elements of two rows are read.
enum class Reading {
  single,   // one column
  plain,    // one element after another
  packets,  // 16 bytes at a time
  groups,   // eight lanes read a row together, 16 bytes each
};

template <class T>
constexpr int kInPacket = 16 / static_cast<int>(sizeof(T));

// Adds the products of the elements in 16 bytes.
template <class T>
__device__ void add_packet(T& sum, const T* x, const T* y) {
  const uint4 left = __ldg(reinterpret_cast<const uint4*>(x)), right = __ldg(reinterpret_cast<const uint4*>(y));
  T some_x[kInPacket<T>], some_y[kInPacket<T>];
  memcpy(some_x, &left, sizeof(left));
  memcpy(some_y, &right, sizeof(right));
#pragma unroll
  for (int k = 0; k < kInPacket<T>; ++k) sum += multiply(some_x[k], some_y[k]);
}

template <class T>
__device__ const T* of_lane(const T* address, int lane) {
  return reinterpret_cast<const T*>(__shfl_sync(~0u, reinterpret_cast<unsigned long long>(address), lane));
}

// The value of the lane whose number differs in this bit.
template <class T>
__device__ T across(T v, int bit) {
  if constexpr (is_complex<T>) return {__shfl_xor_sync(~0u, v.re, bit), __shfl_xor_sync(~0u, v.im, bit)};
  else return __shfl_xor_sync(~0u, v, bit);
}

// The sum over p of x[p] y[p] for each active lane, whose rows these are. All lanes of the warp call it.
template <Reading Kind, class T>
__device__ T row_product(bool active, const T* x, const T* y, int64 length) {
  T sum{};
  if constexpr (Kind == Reading::single) {
    if (active) sum = multiply(load(x), load(y));
  } else if constexpr (Kind == Reading::plain) {
    for (int64 p = 0; active && p < length; ++p) sum += multiply(load(x + p), load(y + p));
  } else if constexpr (Kind == Reading::packets) {
    for (int64 p = 0; active && p < length; p += kInPacket<T>) add_packet(sum, x + p, y + p);
  } else {
    constexpr int lanes = 8;
    const int lane = threadIdx.x % lanes, first = threadIdx.x % 32 - lane;
    const unsigned which = __ballot_sync(~0u, active);
#pragma unroll
    for (int k = 0; k < lanes; ++k) {  // the rows of lane `first + k`
      const T *const left = of_lane(x, first + k), *const right = of_lane(y, first + k);
      T part{};
      if (which >> (first + k) & 1) {
        for (int64 p = lane * kInPacket<T>; p < length; p += lanes * kInPacket<T>)
          add_packet(part, left + p, right + p);
      }
      for (int step = 1; step < lanes; step *= 2) part += across(part, step);
      if (lane == k) sum = part;
    }
  }
  return sum;
}

// Calls f with the way in which rows of X and Y are read.
template <class T, class F>
void with_reading(const Dense& x, const Dense& y, const F& f) {
  const auto aligned = [](const Dense& d) {
    return reinterpret_cast<std::uintptr_t>(d.data) % 16 == 0 && d.row_stride % kInPacket<T> == 0 &&
           d.cols % kInPacket<T> == 0;
  };
  if (x.cols == 1) f(std::integral_constant<Reading, Reading::single>{});
  else if (!aligned(x) || !aligned(y)) f(std::integral_constant<Reading, Reading::plain>{});
  else if (x.cols * static_cast<int64>(sizeof(T)) < 128) f(std::integral_constant<Reading, Reading::packets>{});
  else f(std::integral_constant<Reading, Reading::groups>{});
}

}  // namespace diagsparse::cuda::sampled
