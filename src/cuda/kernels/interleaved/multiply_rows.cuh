// The kernel "row" of formats whose rows are stored at equal steps, with neighbouring rows next to each other: ell and
// sell.
//
// y = alpha A x + beta y.
//   A: stored row p is row a.row(p) of the matrix; its entries are at the positions from a.begin(p) to a.end(p),
//   a.step() apart, of a.columns and a.values; its entry w is in the chunk a.chunk(p, w, position). Where its padding
//   begins, a column is negative.  x: n, or n x k.  y: m, or m x k.
//
// A thread loops over the positions of a row: neighbouring threads read neighbouring entries, and the corresponding
// elements of x through the caches. It stops at a.end(p), or where padding begins, so padding is not multiplied. If
// rows are few and long, so that one thread per row would leave the GPU idle, a block processes 32 of them, and each of
// its warps a part of every row:
//
//     entry      0  1  2  3  4  5  6  7  8  9 10 ...
//     warp       0  1  2  3  4  5  6  7  0  1  2      their sums are added in shared memory, in order
//
// If a few rows are much longer than others, a thread processes the first 64 entries of each row, and then blocks
// process the rest of the long ones in this way. For a vector, such rows, and those of small matrices, are divided into
// chunks of equal work instead (multiply_uneven_rows.cuh).
//
// Blocks of columns are multiplied by groups of threads for each row (multiply_block.cuh), except for few and long
// rows, and the rest of long ones: there a row of blocks processes every gridDim.y-th column of x. The order of a sum
// depends only on the matrix, so every run gives the same bits.
#pragma once

#include <cstdlib>

#include "device/dense.cuh"
#include "device/values.cuh"
#include "kernels/interleaved/multiply_uneven_rows.cuh"
#include "kernels/interleaved/sum_positions.cuh"
#include "layouts/multiply_block.cuh"

namespace diagsparse::cuda {

// Multiplies the first `most` entries of each row.
template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_rows(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols, int64 most,
                  const __grid_constant__ Update<Product<U, V>> update) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row(p), begin = a.begin(p), end = min(a.end(p), begin + most * a.step());
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    const auto sum = sum_positions<Product<U, V>>(a, p, begin, end, 0, 1, conj, x.data + c * x.col, x.row);
    update.one(y.data + i * y.row + c * y.col, sum);
  }
}

constexpr int kUnit = 32, kWarps = kBlock / kUnit;  // rows per block; warps, each with a part of them

// Multiplies the entries of each row from number `from` on; rows without any are not changed.
template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_rows_by_blocks(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                            int64 from, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ T of_warps[kWarps][kUnit];
  const int warp = threadIdx.x / kUnit, lane = threadIdx.x % kUnit;
  const int64 p = static_cast<int64>(blockIdx.x) * kUnit + lane, first = from + warp;
  const bool exists = p < a.rows;
  const int64 begin = exists ? a.begin(p) + first * a.step() : 0, end = exists ? a.end(p) : 0;
  if (from > 0 && !__syncthreads_or(begin < end)) return;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    T sum = sum_positions<T>(a, p, begin, end, first, kWarps, conj, x.data + c * x.col, x.row);
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && exists) {
      for (int k = 1; k < kWarps; ++k) sum += of_warps[k][lane];
      update.one(y.data + a.row(p) * y.row + c * y.col, sum);
    }
    __syncthreads();
  }
}

// Whether the rows of a matrix are divided into chunks of equal work for vectors: if they differ, or if the matrix is
// so small that the time is that of the longest row. `longest`: the positions of this row. H200, double precision, with
// chunks and without: cond-mat-2005 (8.7 entries per row, at most 278) 9 and 71 us, utm5940 (14, 30) 3.2 and 9.2 us,
// fv1 (9604 rows of 9) 3.1 and 4.5 us, jnlbrng1 (40,000 rows of 5) 5.2 and 3.5 us, bcsstk16 (4884 rows of 60) 5.9
// and 5.0 us.
inline bool divides_rows(const Matrix& m, int64 longest) {
  const int64 entries = m.structure->stored(), mean = entries / std::max<int64>(m.rows, 1);
  return longest > 4 * std::max<int64>(16, mean) || (entries < 1 << 17 && longest > 8 && mean <= 32);
}

// Builds what a product with a vector caches with the matrix.
template <template <class T, class I> class Layout>
void prepare_all_rows(const Matrix& m, int64 longest) {
  if (!divides_rows(m, longest)) return;
  with_index_type(m.index("indices").dtype, [&](auto zero) {
    chunks_of_stored_rows(m, Layout<float, decltype(zero)>::over(*m.structure, nullptr));
  });
}

// `longest`: the positions of the longest row.
template <class U, class V, template <class T, class I> class Layout, class I>
void multiply_all_rows(const char* name, const Matrix& m, const Layout<U, I>& a, int64 longest, Op op, Scalar alpha,
                       const Dense& x, Scalar beta, const Dense& y) {
  using A = Layout<U, I>;
  using T = Product<U, V>;
  const int64 positions = m.values.size();
  constexpr int64 few = 1 << 18, width = 32;    // threads that a large GPU runs at a time; entries
  constexpr int64 own_entries = 64, ratio = 8;  // entries of a row for its own thread if others are much shorter; ratio
                                                // of lengths
  if (x.cols == 1 && divides_rows(m, longest)) {
    const auto chunks = chunks_of_stored_rows(m, Layout<float, I>::over(*m.structure, nullptr));
    return launch(name, multiply_uneven_rows<A, U, V>, dim3(static_cast<unsigned>(chunks->count)), dim3(kBlock), a,
                  op.conjugated, Block<const V>(x), Block<T>(y), chunks->starts(), Update<T>(alpha, beta));
  }
  const auto run = [&](auto kernel, int64 threads, int64 entry, Scalar keep) {
    launch(name, kernel, blocks_by_columns(threads, x.cols), dim3(kBlock), a, op.conjugated, Block<const V>(x),
           Block<T>(y), x.cols, entry, Update<T>(alpha, keep));
  };
  const auto by_blocks = multiply_rows_by_blocks<A, U, V>;
  const int64 groups = x.cols > 1 ? lanes_for_columns<V>(x.cols) : 1;  // threads per row
  if (a.rows * groups < few && positions > width * a.rows) return run(by_blocks, a.rows * kWarps, 0, beta);
  // Only for blocks of columns: for a vector, such rows have been divided already.
  const bool uneven = longest > ratio * std::max(own_entries, positions / std::max<int64>(a.rows, 1));
  const int64 most = uneven ? own_entries : longest;
  const bool by_columns = x.cols == 1 || std::abs(x.col_stride) > std::abs(x.row_stride);
  if (by_columns) run(multiply_rows<A, U, V>, a.rows, most, beta);
  else multiply_columns<A, U, V>(name, a, most, op, x, y, Update<T>(alpha, beta));
  if (uneven) run(by_blocks, a.rows * kWarps, own_entries, 1.0);
}

}  // namespace diagsparse::cuda
