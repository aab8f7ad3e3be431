// Kernel "march": substitution with any diagonals by a single block of threads, which keeps the results of the last
// rows in shared memory. It computes `step` rows at once, as many as do not depend on each other. If these are fewer
// than a warp has threads, a warp computes 32 rows at once, and their near diagonals in several rounds. The rows are
// computed in the same way on every run.
#pragma once

#include "kernels/triangles/terms.cuh"

namespace diagsparse::cuda::triangles {

constexpr int kMostAtOnce = 512;  // rows
constexpr int kWindow = 4096;     // rows in shared memory
constexpr int kMostNear = 4;      // diagonals nearer than a warp is wide

template <class T>
__device__ T from_lane_before(T v, int lanes) {
  if constexpr (is_complex<T>) {
    return {__shfl_up_sync(~0u, v.re, lanes), __shfl_up_sync(~0u, v.im, lanes)};
  } else {
    return __shfl_up_sync(~0u, v, lanes);
  }
}

// The terms from `far` on are nearer than 32 rows.
template <class T>
__global__ void __launch_bounds__(kMostAtOnce)
    substitute_march(const __grid_constant__ Terms<T> t, int far, T* x, int64 lead) {
  constexpr int kEarly = 4;                        // far diagonals that are read ahead
  constexpr int kAhead = sizeof(T) == 16 ? 1 : 3;  // by so many steps
  extern __shared__ __align__(16) unsigned char shared[];
  T* const window = reinterpret_cast<T*>(shared);
  x += blockIdx.y * lead;
  const bool near = far < t.count;
  const int64 each = near ? 32 : t.step;
  const int me = static_cast<int>(threadIdx.x), lane = me % 32, step = static_cast<int>(t.step);
  int distance[kMostNear];
#pragma unroll
  for (int k = 0; k < kMostNear; ++k) distance[k] = far + k < t.count ? static_cast<int>(t.distance[far + k]) : 32;
  struct Operands {
    T early[kEarly], near[kMostNear], inverse, b;
  };
  Operands next[kAhead];
  const int64 farthest = t.distance[0];
  const auto load = [&](int64 q, Operands& to) {
    const bool inside = me < each && q < t.rows.count;
    const int64 i = inside ? t.rows.row(q) : 0;
    const bool complete = inside && q >= farthest;  // all diagonals have elements in this row
    const auto element = [&](int k) {
      if (k >= t.count) return T{};
      if (complete) return conjugate_if(t.conjugated, t.values[t.first[k] + i]);
      return inside ? t.element(k, q, i) : T{};
    };
#pragma unroll
    for (int k = 0; k < kEarly; ++k) to.early[k] = k < far ? element(k) : T{};
#pragma unroll
    for (int k = 0; k < kMostNear; ++k) to.near[k] = near ? element(far + k) : T{};
    to.inverse = inside && t.inverse ? t.reciprocal(i) : convert<T>(1);
    to.b = inside ? x[i] : T{};
  };
  const bool times = t.last != Last::reciprocal;
  const auto last = [&](T inverse, T sum) { return times ? multiply(inverse, sum) : reciprocal(sum); };
  const auto compute = [&](int64 q, const Operands& now) {
    const bool inside = me < each && q < t.rows.count;
    const int at = static_cast<int>(q % kWindow);
    T sum = now.b;
    const auto subtract = [&](int64 d, T a) {  // the window is zero before the first row
      if (d + each <= kWindow) sum = minus_product(sum, a, window[(at - static_cast<int>(d)) & (kWindow - 1)]);
      else if (inside && d <= q) sum = minus_product(sum, a, from_l2(x + t.rows.row(q - d)));
    };
#pragma unroll
    for (int k = 0; k < kEarly; ++k) {
      if (k < far) subtract(t.distance[k], now.early[k]);
    }
    for (int k = kEarly; k < far; ++k) subtract(t.distance[k], inside ? t.element(k, q, t.rows.row(q)) : T{});
    if (near) {
#pragma unroll
      for (int k = 0; k < kMostNear; ++k) {  // of the step before
        if (distance[k] < 32 && distance[k] > lane) subtract(distance[k], now.near[k]);
      }
      const auto rounds = [&](auto count) {
#pragma unroll 4
        for (int low = 0; low < 32; low += step) {
          const T result = last(now.inverse, sum);
#pragma unroll
          for (int k = 0; k < decltype(count)::value; ++k) {
            const T v = from_lane_before(result, distance[k]);
            const unsigned after = lane - distance[k] - low;
            if (after < static_cast<unsigned>(step)) sum = minus_product(sum, now.near[k], v);
          }
        }
      };
      if (t.count - far == 1) rounds(std::integral_constant<int, 1>());
      else rounds(std::integral_constant<int, kMostNear>());
    }
    const T result = last(now.inverse, sum);
    if (inside) {
      x[t.rows.row(q)] = result;
      window[at] = result;
    }
    __syncthreads();
  };
  for (int r = me; r < kWindow; r += blockDim.x) window[r] = T{};
  __syncthreads();
#pragma unroll
  for (int a = 0; a < kAhead; ++a) load(me + a * each, next[a]);
  for (int64 begin = 0; begin < t.rows.count; begin += kAhead * each) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const Operands now = next[a];
      load(begin + me + (a + kAhead) * each, next[a]);
      compute(begin + me + a * each, now);
    }
  }
}

}  // namespace diagsparse::cuda::triangles
