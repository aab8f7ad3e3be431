// The kernel "row" of ell and sell for rows of different lengths.
//
// y = alpha A x + beta y.
//   A: as kernels/interleaved/multiply_rows.cuh describes it.  x: n.  y: m.
//
// A block processes stored rows with up to kEntries entries together (kernels/rows/chunks.hpp). Its threads are divided
// evenly among the rows: neighbouring threads process neighbouring rows, so they read neighbouring entries, and `parts`
// threads process a row, every parts-th entry each. If there are more rows than threads, it takes several passes.
//
//     rows       r0  r1  r2  r3
//     part 0     e0  e0  e0  e0      the first entry of each thread
//     part 1     e1  e1  e1
//     part 0     e2      e2          the second one
//     part 1     e3      e3
//
// The entries of a row beyond kOwn of each of its threads are read by a complete warp, neighbouring threads
// neighbouring entries of the row, which are distant in memory. A single row with more than kEntries entries is read by
// all threads. So no thread loops over a long row. Sums are added in shared memory. Which threads add what depends only
// on the matrix, so every run gives the same bits.
#pragma once

#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "entries/sorted_keys.cuh"
#include "kernels/interleaved/sum_positions.cuh"
#include "kernels/rows/chunks.hpp"

namespace diagsparse::cuda {

constexpr int kEntries = 1024;  // of a block
constexpr int kOwn = 16;        // of a thread, before a warp continues

template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock, sizeof(Product<U, V>) > 8 ? 3 : 4)
    multiply_uneven_rows(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y,
                         const rows::ChunkStart* chunks, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int warps = kBlock / 32;
  __shared__ T sums[kBlock];       // of each part of each row, then of each row
  __shared__ int list[kBlock];     // of the rows that are longer than their threads read
  __shared__ int listed, longest;  // the length of the list; the row that all threads read, or -1
  const int64 first = chunks[blockIdx.x].row, last = chunks[blockIdx.x + 1].row, step = a.step();
  int width = 1;  // rows at a time
  while (width < kBlock && width < last - first) width *= 2;
  const int parts = kBlock / width, own = kOwn * parts;
  const int r = threadIdx.x % width, part = threadIdx.x / width, warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  for (int64 base = first; base < last; base += width) {
    const int64 p = base + r;
    const bool exists = p < last;
    const int64 begin = exists ? a.begin(p) : 0, end = exists ? a.end(p) : 0;
    // The sum of every `every`-th entry of row base + i from number w on.
    const auto rest = [&](int i, int64 w, int every) {
      const int64 q = base + i;
      return sum_positions<T>(a, q, a.begin(q) + w * step, a.end(q), w, every, conj, x.data, x.row);
    };
    const auto column = [&](int64 w) {  // of entry w, negative if there is none
      const int64 e = begin + w * step;
      return part == 0 && e < end ? column_of(a, p, w, e) : -1;
    };
    if (threadIdx.x == 0) listed = 0, longest = -1;
    sums[threadIdx.x] =
        sum_positions<T>(a, p, begin + part * step, min(end, begin + own * step), part, parts, conj, x.data, x.row);
    __syncthreads();
    if (column(own) >= 0) {
      if (column(own + kEntries) >= 0) longest = r;
      else list[atomicAdd(&listed, 1)] = r;
    }
    for (int half = parts / 2; half > 0; half /= 2) {
      if (part < half) sums[threadIdx.x] += sums[threadIdx.x + half * width];
      __syncthreads();
    }
    if (parts == 1) __syncthreads();
    for (int k = warp; k < listed; k += warps) {
      const T sum = sum_of_lanes<32>(rest(list[k], own + lane, 32));
      if (lane == 0) sums[list[k]] += sum;
    }
    __syncthreads();
    if (part == 0 && exists && r != longest) update.one(y.data + a.row(p) * y.row, sums[r]);
    if (longest >= 0) {
      T sum = threadIdx.x == 0 ? sums[longest] : T{};
      __syncthreads();
      const T of_warp = sum_of_lanes<32>(rest(longest, own + threadIdx.x, kBlock));
      if (lane == 0) sums[warp] = of_warp;
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int k = 0; k < warps; ++k) sum += sums[k];
        update.one(y.data + a.row(base + longest) * y.row, sum);
      }
    }
    __syncthreads();
  }
}

template <class A>
__global__ void __launch_bounds__(kBlock) measure_stored_rows(const A a, std::int64_t* lengths) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  int64 w = 0;
  for (int64 e = a.begin(p); e < a.end(p) && column_of(a, p, w, e) >= 0; e += a.step()) ++w;
  lengths[p] = w;
}

// The rows of each block; cached with the matrix, 16 bytes for each.
template <class A>
std::shared_ptr<rows::ResidentChunks> chunks_of_stored_rows(const Matrix& m, const A& a) {
  return cached<rows::ResidentChunks>(m.cache(), "chunks of stored rows", [&] {
    const Scratch<std::int64_t> indptr(a.rows + 1);
    CUDA_CALL(cudaMemsetAsync(indptr.get(), 0, sizeof(std::int64_t), stream()));
    launch("measure rows", measure_stored_rows<A>, blocks(a.rows), dim3(kBlock), a, indptr.get() + 1);
    const int64 entries = inclusive_sum(indptr.get() + 1, indptr.get() + 1, a.rows);
    return rows::chunks_of_pointers(indptr.get(), a.rows, entries, kEntries);
  });
}

}  // namespace diagsparse::cuda
