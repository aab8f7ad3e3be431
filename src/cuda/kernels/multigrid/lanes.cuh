// Neighbouring columns of a line in the registers of a warp: each lane has N of them.
#pragma once

#include "device/values.cuh"

namespace diagsparse::cuda::multigrid {

constexpr unsigned kWarp = 0xffffffff;

template <class T, int N>
struct Columns {
  T v[N];
};

template <class T, int N, class F>
__device__ Columns<T, N> each(const F& f) {
  Columns<T, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.v[k] = f(k);
  return out;
}
template <class T, int N>
__device__ Columns<T, N> operator+(const Columns<T, N>& a, const Columns<T, N>& b) {
  return each<T, N>([&](int k) { return a.v[k] + b.v[k]; });
}
template <class T, int N>
__device__ Columns<T, N> operator-(const Columns<T, N>& a, const Columns<T, N>& b) {
  return each<T, N>([&](int k) { return a.v[k] - b.v[k]; });
}
template <class T, int N>
__device__ Columns<T, N> operator*(const Columns<T, N>& a, const Columns<T, N>& b) {
  return each<T, N>([&](int k) { return a.v[k] * b.v[k]; });
}
template <class T, int N>
__device__ Columns<T, N> operator*(T a, const Columns<T, N>& b) {
  return each<T, N>([&](int k) { return a * b.v[k]; });
}
// 1 / a, or 0 outside of the grid
__device__ inline float inverse(float a) { return a > 0 ? __fdividef(1.0f, a) : 0.0f; }
__device__ inline double inverse(double a) { return a > 0 ? 1.0 / a : 0.0; }
template <class T, int N>
__device__ Columns<T, N> inverse(const Columns<T, N>& a) {
  return each<T, N>([&](int k) { return inverse(a.v[k]); });
}

// The values of the columns before and after. At the ends of the warp they are wrong.
template <class T, int N>
__device__ Columns<T, N> before(const Columns<T, N>& a) {
  const T last = __shfl_up_sync(kWarp, a.v[N - 1], 1);
  return each<T, N>([&](int k) { return k > 0 ? a.v[k > 0 ? k - 1 : 0] : last; });
}
template <class T, int N>
__device__ Columns<T, N> after(const Columns<T, N>& a) {
  const T first = __shfl_down_sync(kWarp, a.v[0], 1);
  return each<T, N>([&](int k) { return k < N - 1 ? a.v[k < N - 1 ? k + 1 : 0] : first; });
}

// Every second column, from the first or the second one on, and the inverse.
template <class T, int N>
__device__ Columns<T, N / 2> even(const Columns<T, N>& a) {
  return each<T, N / 2>([&](int k) { return a.v[2 * k]; });
}
template <class T, int N>
__device__ Columns<T, N / 2> odd(const Columns<T, N>& a) {
  return each<T, N / 2>([&](int k) { return a.v[2 * k + 1]; });
}
template <class T, int N>
__device__ Columns<T, 2 * N> interleaved(const Columns<T, N>& a, const Columns<T, N>& b) {
  return each<T, 2 * N>([&](int k) { return k % 2 ? b.v[k / 2] : a.v[k / 2]; });
}

// Memory is aligned to the N values of a lane.
template <class T, int N>
struct alignas(N * sizeof(T) > 16 ? 16 : N * sizeof(T)) Packet {
  T v[N];
};
template <int N, class T>
__device__ Columns<T, N> columns_at(const T* p) {
  const auto packet = *reinterpret_cast<const Packet<T, N>*>(p + static_cast<int>(threadIdx.x % 32) * N);
  return each<T, N>([&](int k) { return packet.v[k]; });
}
// Without `Margin` columns at both ends of the warp.
template <int Margin, class T, int N>
__device__ void put_columns(T* p, const Columns<T, N>& a) {
  const int lane = threadIdx.x % 32;
  if (lane < Margin / N || lane >= 32 - Margin / N) return;
  Packet<T, N> packet;
#pragma unroll
  for (int k = 0; k < N; ++k) packet.v[k] = a.v[k];
  *reinterpret_cast<Packet<T, N>*>(p + lane * N) = packet;
}
// The part of an inner product that a lane has.
template <int Margin, class T, int N>
__device__ double inner(const Columns<T, N>& a, const Columns<T, N>& b) {
  const int lane = threadIdx.x % 32;
  T sum = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) sum += a.v[k] * b.v[k];
  return lane < Margin / N || lane >= 32 - Margin / N ? 0.0 : static_cast<double>(sum);
}
// As put_columns, for memory without alignment or zeros around it, up to a column.
template <int Margin, class T, int N>
__device__ void put_some_columns(T* p, const Columns<T, N>& a, int64 first, int64 columns) {
  const int lane = threadIdx.x % 32;
  if (lane < Margin / N || lane >= 32 - Margin / N) return;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (first + lane * N + k < columns) p[lane * N + k] = a.v[k];
  }
}

}  // namespace diagsparse::cuda::multigrid
