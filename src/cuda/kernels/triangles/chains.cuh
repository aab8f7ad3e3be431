// Kernel "chains": substitution with diagonals whose distances are multiples of the nearest one. The rows at this
// distance from each other form a chain, and chains do not depend on each other: a thread computes one of them, next to
// neighbouring threads, and waits for nobody. The rows are computed in the same way on every run.
#pragma once

#include "kernels/triangles/terms.cuh"

namespace diagsparse::cuda::triangles {

constexpr int kChainBlock = 32;  // threads, so that few chains are spread over multiprocessors

// Rows of a chain that a thread loads at once.
template <class T>
constexpr int kLinks = sizeof(T) == 16 ? 8 : 16;

// The last term is the nearest one, at distance t.step; the others are at least kLinks times as far.
template <class T>
__global__ void __launch_bounds__(kChainBlock) substitute_chains(const __grid_constant__ Terms<T> t, T* x, int64 lead) {
  constexpr int kCount = kLinks<T>;
  const int64 chain = thread_index(), sign = t.rows.sign();
  if (chain >= t.step) return;
  x += blockIdx.y * lead;
  const int nearest = t.count - 1;
  struct Links {
    T a[kCount], inverse[kCount], b[kCount];
  };
  const auto load = [&](int64 q, Links& links) {
#pragma unroll
    for (int u = 0; u < kCount; ++u, q += t.step) {
      const bool inside = q < t.rows.count;
      const int64 i = inside ? t.rows.row(q) : 0;
      links.a[u] = inside ? t.element(nearest, q, i) : T{};
      links.inverse[u] = inside ? t.reciprocal(i) : T{};
      links.b[u] = inside ? x[i] : T{};
    }
  };
  Links next;
  load(chain, next);
  T last{};
  for (int64 q = chain; q < t.rows.count; q += kCount * t.step) {
    const Links now = next;
    load(q + kCount * t.step, next);
    T sum[kCount];
#pragma unroll
    for (int u = 0; u < kCount; ++u) sum[u] = now.b[u];
    for (int k = 0; k < nearest; ++k) {
#pragma unroll
      for (int u = 0; u < kCount; ++u) {
        const int64 at = q + u * t.step;
        if (at >= t.rows.count || t.distance[k] > at) continue;
        const int64 i = t.rows.row(at);
        sum[u] = minus_product(sum[u], t.element(k, at, i), x[i + sign * t.distance[k]]);
      }
    }
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      const int64 at = q + u * t.step;
      if (at >= t.step) sum[u] = minus_product(sum[u], now.a[u], last);
      last = finished(t.last, now.inverse[u], sum[u]);
      if (at < t.rows.count) x[t.rows.row(at)] = last;
    }
  }
}

}  // namespace diagsparse::cuda::triangles
