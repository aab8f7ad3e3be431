// Kernel "blocks": substitution with diagonals that are all far. A thread computes a row, and a block of threads at
// most as many as do not depend on each other. Each diagonal and x are read once, by neighbouring threads. The rows are
// computed in the same way on every run.
#pragma once

#include "kernels/triangles/terms.cuh"

namespace diagsparse::cuda::triangles {

// A block waits for those that have computed the rows that it needs. `state` has the number of blocks that were
// started, and for each block whether it is done. Blocks start in order, so those that one waits for are running.
template <class T>
__global__ void __launch_bounds__(kBlock)
    substitute_blocks(const __grid_constant__ Terms<T> t, T* x, int64 lead, unsigned* state, int64 blocks) {
  constexpr int kEarly = 4;  // diagonals that are read before it waits
  __shared__ unsigned ticket;
  x += blockIdx.y * lead;
  state += blockIdx.y * (blocks + 1);
  unsigned* const done = state + 1;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1u);
  __syncthreads();
  const int64 begin = ticket * t.step, q = begin + threadIdx.x;
  const bool inside = threadIdx.x < t.step && q < t.rows.count;
  const int64 i = inside ? t.rows.row(q) : 0;
  const auto element = [&](int k) { return inside ? t.element(k, q, i) : T{}; };
  T early[kEarly];
#pragma unroll
  for (int k = 0; k < kEarly; ++k) early[k] = k < t.count ? element(k) : T{};
  T sum = inside ? x[i] : T{};
  const T inverse = inside ? t.reciprocal(i) : T{};
  for (int k = 0; k < t.count; ++k) {
    const int64 last = begin + t.step - 1 - t.distance[k];  // row that is needed
    if (last < 0) continue;
    if (threadIdx.x == 0) {
      const int64 low = max(int64{0}, begin - t.distance[k]) / t.step;
      while (acquire(done + low) == 0) {
      }
      while (acquire(done + last / t.step) == 0) {
      }
    }
    __syncthreads();
    T a = early[0];
#pragma unroll
    for (int e = 1; e < kEarly; ++e) a = k == e ? early[e] : a;
    if (k >= kEarly) a = element(k);
    if (inside && t.distance[k] <= q) sum = minus_product(sum, a, from_l2(x + i + t.rows.sign() * t.distance[k]));
  }
  if (inside) x[i] = finished(t.last, inverse, sum);
  __syncthreads();
  if (threadIdx.x == 0) release(done + ticket, 1);
}

}  // namespace diagsparse::cuda::triangles
