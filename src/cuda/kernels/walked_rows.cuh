// The kernel "row" of formats whose rows lie at places that are equally far apart, those of neighbouring rows side by
// side: ell and sell.
//
// y = alpha A x + beta y.
//   A: stored row p is row a.row(p) of the matrix; its entries lie at the places from a.begin(p) to a.end(p), a.step()
//   apart, of a.columns and a.values; its entry w is in the chunk a.chunk(p, w, place). Where its padding begins, a
//   column is negative.  x: n, or n x k.  y: m, or m x k.
//
// A thread walks over the places of a row: neighbouring threads read neighbouring entries, and of x what these ask for,
// through the caches. It ends at a.end(p), or where padding begins, so that nothing of it is multiplied. Where rows
// are few and long, so that a thread each would leave the GPU idle, a block takes 32 of them and each of its warps a
// part of every row:
//
//     entry      0  1  2  3  4  5  6  7  8  9 10 ...
//     warp       0  1  2  3  4  5  6  7  0  1  2      their sums meet in shared memory, in order
//
// A row of blocks takes every gridDim.y-th column of x. The order of a sum follows from the matrix: the same bits on
// every run.
#pragma once

#include "core/columns.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda {

// The column at a place, negative in the padding. Its base is read in any case: it need not wait for the index.
template <class I>
__device__ std::int32_t column_at(const Columns<I>& columns, int64 place, int64 chunk) {
  const I index = load(columns.indices + place);
  if constexpr (std::is_signed_v<I>) return index;
  const std::int32_t base = columns.bases ? load(columns.bases + chunk) : 0;
  return Columns<I>::padding(index) ? -1 : index + base;
}

template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock)
    walk_rows(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
              const __grid_constant__ Update<Product<U, V>> update) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row(p), begin = a.begin(p), end = a.end(p);
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    Product<U, V> sum{};
    for (int64 e = begin, w = 0; e < end; e += a.step(), ++w) {
      const std::int32_t j = column_at(a.columns, e, a.chunk(p, w, e));
      if (j < 0) break;
      sum += multiply(conjugate_if(conj, load(a.values + e)), load(x.data + j * x.row + c * x.col));
    }
    update.one(y.data + i * y.row + c * y.col, sum);
  }
}

constexpr int kUnit = 32, kWarps = kBlock / kUnit;  // rows of a block; warps, each with a part of them

template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock)
    walk_rows_together(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                       const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int each = 4;  // entries on their way to a thread at once
  __shared__ T of_warps[kWarps][kUnit];
  const int warp = threadIdx.x / kUnit, lane = threadIdx.x % kUnit;
  const int64 p = static_cast<int64>(blockIdx.x) * kUnit + lane, step = kWarps * a.step();
  const bool there = p < a.rows;
  const int64 begin = there ? a.begin(p) + warp * a.step() : 0, end = there ? a.end(p) : 0;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    T sum{};
    for (int64 e = begin, w = warp; e < end; e += each * step, w += each * kWarps) {
      std::int32_t columns[each];
      U values[each];
#pragma unroll
      for (int k = 0; k < each; ++k) {
        const bool stored = e + k * step < end;
        columns[k] = stored ? column_at(a.columns, e + k * step, a.chunk(p, w + k * kWarps, e + k * step)) : -1;
        if (stored) values[k] = load(a.values + e + k * step);
      }
#pragma unroll
      for (int k = 0; k < each; ++k) {
        if (columns[k] < 0) continue;
        sum += multiply(conjugate_if(conj, values[k]), load(x.data + columns[k] * x.row + c * x.col));
      }
      if (columns[each - 1] < 0) break;
    }
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && there) {
      for (int k = 1; k < kWarps; ++k) sum += of_warps[k][lane];
      update.one(y.data + a.row(p) * y.row + c * y.col, sum);
    }
    __syncthreads();
  }
}

// `places` are those of all rows.
template <class A, class U, class V>
void walk_all_rows(const char* name, const A& a, int64 places, Op op, Scalar alpha, const Dense& x, Scalar beta,
                   const Dense& y) {
  constexpr int64 few = 1 << 18, width = 32;  // threads that a large GPU runs at a time; entries
  const bool together = a.rows < few && places > width * a.rows;
  const auto kernel = together ? walk_rows_together<A, U, V> : walk_rows<A, U, V>;
  launch(name, kernel, blocks_by_columns(together ? a.rows * kWarps : a.rows, x.cols), dim3(kBlock), a, op.conjugated,
         Block<const V>(x), Block<Product<U, V>>(y), x.cols, Update<Product<U, V>>(alpha, beta));
}

}  // namespace diagsparse::cuda
