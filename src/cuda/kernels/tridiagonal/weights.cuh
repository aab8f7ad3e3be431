// Weights of the right-hand side in the system of the separators: the first and the last row of the inverse of each
// chunk. They decay in diagonally dominant matrices, so only some are stored.
//
//   weigh_rows   the weights
//   condense     the right-hand side of the system of the separators, from the weights
#pragma once

#include "device/lanes.cuh"
#include "kernels/tridiagonal/chunks.cuh"

namespace diagsparse::cuda::tridiagonal {

// `a` is the transposed matrix: how its rows depend on the two separators, are the negative weights. weights: for each
// chunk `count` elements for its first rows, and `count` for its last interior rows. *needed becomes the largest number
// of rows from an end of a chunk to a weight that counts: to one that exceeds `least`, if the rows of the matrix are
// scaled to pivots of 1.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksEach<T>)
    weigh_rows(const Diagonals<T> a, const Chunks chunks, Real<T> least, int count, T* weights, int* needed) {
  constexpr int M = kRows<T>, interior = kChunk<T> - 1;
  Shared<T>& shared = shared_memory<T>();
  __shared__ Line<T> lines[kThreads];
  __shared__ int most;
  const int64 chunk = blockIdx.x, base = chunk * chunks.rows;
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) most = 0;
  Part<T> p;
  read_part(p, a, static_cast<const T*>(nullptr), base, chunks.rows, shared);
  bool strong = true;
  Row<T> row;
  const Line<T> line = solve_part<T, false>(p, chunks.separate, shared, row, strong);
  lines[t] = line;
  __syncthreads();
  const T zero{}, one = convert<T>(1);
  const Line<T> before = t > 0 ? lines[t - 1] : Line<T>{zero, one, zero};
  T first[M], last[M];
  p.substitute(before.left, line.left, first);
  p.substitute(before.right, line.right, last);
  T* to = weights + chunk * 2 * count;
  const int64 end = base + chunks.rows - 1;  // the row of the separator
  const Real<T> least_first = base > 0 ? least * magnitude(load(a.main + base - 1)) : 0;
  const Real<T> least_last = end < a.n ? least * magnitude(load(a.main + end)) : 0;
  int reach = 0;
#pragma unroll
  for (int k = 0; k < M; ++k) {
    const int i = t * M + k, from_end = interior - 1 - i;
    if (from_end < 0) continue;
    const Real<T> inverse = k < M - 1 ? magnitude(p.main[k]) : 1 / magnitude(p.main[k]);  // of the pivot, or its like
    if (!(magnitude(first[k]) <= least_first * inverse)) reach = max(reach, i + 1);
    if (!(magnitude(last[k]) <= least_last * inverse)) reach = max(reach, from_end + 1);
  }
  write(first, shared.rhs, to, 0, count, count);
  write(last, shared.rhs, to + 2 * count - interior, 0, interior, interior, interior - count);
  reach = static_cast<int>(__reduce_max_sync(~0u, static_cast<unsigned>(reach)));
  if (t % 32 == 0) atomicMax(&most, reach);
  __syncthreads();
  if (t == 0 && most > count) atomicMax(needed, most);
}

// rhs[column * chunks + chunk] = the right-hand side of this separator. A block computes one element at a time.
template <class T>
__global__ void __launch_bounds__(kBlock) condense(const T* weights, int count, const Chunks chunks, int64 n,
                                                   const T* b, int64 b_stride, int64 columns, T* rhs) {
  __shared__ T sums[kBlock / 32];
  const int64 chunk = blockIdx.x, end = (chunk + 1) * chunks.rows - 1;  // the row of the separator
  const int t = static_cast<int>(threadIdx.x), warps = static_cast<int>(blockDim.x) / 32;
  const T *last = weights + (2 * chunk + 1) * count, *first = weights + (2 * chunk + 2) * count;
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    const T* d = b + column * b_stride;
    T sum{};
    for (int i = t; i < count; i += static_cast<int>(blockDim.x)) {
      const int64 row = end - count + i, next = end + 1 + i;
      if (row < n) sum = less_product(sum, minus(load(last + i)), load(d + row));
      if (chunk + 1 < chunks.count && next < n) sum = less_product(sum, minus(load(first + i)), load(d + next));
    }
    sum = sum_of_lanes<32>(sum);
    if (t % 32 == 0) sums[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
      sum = end < n ? load(d + end) : T{};
      for (int w = 0; w < warps; ++w) sum = sum + sums[w];
      rhs[column * chunks.count + chunk] = sum;
    }
    __syncthreads();
  }
}

}  // namespace diagsparse::cuda::tridiagonal
