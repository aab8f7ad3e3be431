// Blocks of columns times csb.
//
// Y = alpha A X + beta Y, A as in matvec.cu.  X: n x k, Y: m x k, fastest in C order.
//
// A thread block computes up to kRows rows of Y. It lists their entries in shared memory, block by block of A, so those
// of a row are in the order of the columns. Then it ranks the entries by rows, in this order:
//
//     rows      2  0  2  1  1  0      of the entries in the list
//     ranked    1  5  3  4  0  2      entries of row 0, of row 1, ...
//
// and a group of threads adds up each row, 16 bytes of the row of Y each, as in layouts/multiply_block.cuh. If the list
// is full, what it holds is added to Y first. The order of a sum depends only on the matrix and on the part of the list
// in which an entry is, so every run gives the same bits.
#pragma once

#include <cub/block/block_scan.cuh>

#include "device/bisection.cuh"
#include "formats/csb/layout.hpp"
#include "layouts/multiply_block.cuh"

namespace diagsparse::cuda::csb {

constexpr int kRowsOfWarp = 8, kRows = kBlock / 32 * kRowsOfWarp;  // that a warp ranks, and of a thread block
constexpr int kLongSegment = 16;                                   // entries that a warp copies together

template <class U>
struct EntryList {
  static constexpr int capacity = sizeof(U) > 8 ? 1024 : 2048;

  Bits<U> values[capacity];
  std::int32_t columns[capacity];
  std::uint16_t ranked[capacity];
  std::uint8_t rows[capacity];
  int begin[kRows + 1];  // of each row, in `ranked`

  // Ranks the first `count` entries. Called by all threads.
  __device__ void rank(int count) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int at[kRowsOfWarp] = {};
    const auto each_row = [&](auto&& f) {
      for (int base = 0; base < count; base += 32) {
        const int e = base + lane, row = e < count ? rows[e] - warp * kRowsOfWarp : -1;
        if (!__any_sync(~0u, row >= 0 && row < kRowsOfWarp)) continue;
#pragma unroll
        for (int r = 0; r < kRowsOfWarp; ++r) f(r, e, row == r, __ballot_sync(~0u, row == r));
      }
    };
    __syncthreads();
    each_row([&](int r, int, bool, unsigned mask) { at[r] += __popc(mask); });
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) {
      if (lane == 0) begin[warp * kRowsOfWarp + r + 1] = at[r];
    }
    __syncthreads();
    if (warp == 0) {
      int low = begin[lane + 1], high = begin[lane + 33];
      for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(~0u, low, step), below_high = __shfl_up_sync(~0u, high, step);
        if (lane >= step) low += below, high += below_high;
      }
      high += __shfl_sync(~0u, low, 31);
      begin[lane + 1] = low, begin[lane + 33] = high;
      if (lane == 0) begin[0] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRowsOfWarp; ++r) at[r] = begin[warp * kRowsOfWarp + r];
    each_row([&](int r, int e, bool mine, unsigned mask) {
      if (mine) ranked[at[r] + __popc(mask & ((1u << lane) - 1))] = static_cast<std::uint16_t>(e);
      at[r] += __popc(mask);
    });
    __syncthreads();
  }
};

template <class U, class V, class I>
__global__ void __launch_bounds__(kBlock)
    multiply_listed_entries(const Csb<U, I> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y,
                            int64 cols, int lanes, bool packets,
                            const __grid_constant__ Update<Product<U, V>> first_update,
                            const __grid_constant__ Update<Product<U, V>> next_update) {
  using T = Product<U, V>;
  using Scan = cub::BlockScan<int, kBlock>;
  constexpr int width = kColumnsEach<V>;
  __shared__ EntryList<U> list;
  __shared__ typename Scan::TempStorage scan;
  __shared__ int64 begins[kBlock];
  __shared__ int counts[kBlock], offsets[kBlock];
  const int64 size = a.blocks.size, part = min(size, static_cast<int64>(kRows));
  const int64 first = blockIdx.x * part, block_row = first / size, low = first % size;
  const int count = static_cast<int>(min(part, a.rows - first));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64* const indptr = a.indptr + block_row * a.blocks.across;
  const int64 column = (static_cast<int64>(blockIdx.y) * lanes + threadIdx.x % lanes) * width, there = cols - column;

  bool again = false;  // Y has been updated before
  const auto add_listed = [&](int listed) {
    list.rank(listed);
    for (int r = threadIdx.x / lanes; r < count; r += kBlock / lanes) {
      T sums[width] = {};
      for (int e = list.begin[r]; there > 0 && e < list.begin[r + 1]; e += kFetch) {
        V elements[kFetch][width];
        U values[kFetch];
#pragma unroll
        for (int k = 0; k < kFetch; ++k) {
          if (e + k >= list.begin[r + 1]) continue;
          const int at = list.ranked[e + k];
          values[k] = conjugate_if(conj, from_bits<U>(list.values[at]));
          load_columns(x.data + list.columns[at] * x.row + column * x.col, x.col, there, packets, elements[k]);
        }
#pragma unroll
        for (int k = 0; k < kFetch; ++k) {
          if (e + k >= list.begin[r + 1]) continue;
#pragma unroll
          for (int c = 0; c < width; ++c) sums[c] += multiply(values[k], elements[k][c]);
        }
      }
      T* const to = y.data + (first + r) * y.row + column * y.col;
#pragma unroll
      for (int c = 0; c < width; ++c) {
        if (c < there) (again ? next_update : first_update).one(to + c * y.col, sums[c]);
      }
    }
    again = true;
    __syncthreads();
  };

  int listed = 0;
  for (int64 block = 0; block < a.blocks.across; block += kBlock) {
    const int64 mine = block + threadIdx.x;
    int64 begin = 0, end = 0;
    if (mine < a.blocks.across) begin = indptr[mine], end = indptr[mine + 1];
    const auto rows_before = [&](int64 row) { return bisect(begin, end, [&](int64 e) { return a.row[e] < row; }); };
    if (begin < end && part < size) {
      const int64 from = low == 0 ? begin : rows_before(low);
      if (low + part < size) end = rows_before(low + part);
      begin = from;
    }
    int offset = 0, all = 0;
    const int own = static_cast<int>(end - begin);
    Scan(scan).ExclusiveSum(own, offset, all);
    begins[threadIdx.x] = begin, counts[threadIdx.x] = own, offsets[threadIdx.x] = offset;
    __syncthreads();
    for (int done = 0; done < all;) {
      const int some = min(EntryList<U>::capacity - listed, all - done);
      const auto copy = [&](int b, int i) {
        const int p = offsets[b] + i - done;
        if (p < 0 || p >= some) return;
        const int64 e = begins[b] + i;
        list.values[listed + p] = to_bits(load(a.values + e));
        list.columns[listed + p] = static_cast<std::int32_t>((block + b) * size + a.col[e]);
        list.rows[listed + p] = static_cast<std::uint8_t>(a.row[e] - low);
      };
      if (own < kLongSegment) {
        for (int i = 0; i < own; ++i) copy(threadIdx.x, i);
      }
      for (int b = warp; b < kBlock; b += kBlock / 32) {
        if (counts[b] < kLongSegment) continue;
        const int from = max(0, done - offsets[b]);
        for (int i = from + lane; i < min(counts[b], done + some - offsets[b]); i += 32) copy(b, i);
      }
      listed += some, done += some;
      if (listed == EntryList<U>::capacity) add_listed(listed), listed = 0;
    }
    __syncthreads();
  }
  if (listed > 0 || !again) add_listed(listed);
}

template <class U, class V, class I>
void multiply_block(const Csb<U, I>& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  using T = Product<U, V>;
  constexpr int width = kColumnsEach<V>;
  const int lanes = lanes_for_columns<V>(x.cols);
  const bool packets = rows_in_packets<V>(x);
  const int64 parts = ceil_div(a.rows, std::min<int64>(a.blocks.size, kRows));
  Block<const V> from(x);
  Block<T> to(y);
  const int64 columns = int64{65535} * lanes * width;  // of a grid
  for (int64 c = 0; c < x.cols; c += columns) {
    const int64 cols = std::min(x.cols - c, columns);
    const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(ceil_div(cols, lanes * width)));
    launch("csb matvec", multiply_listed_entries<U, V, I>, grid, dim3(kBlock), a, op.conjugated, from, to, cols, lanes,
           packets, Update<T>(alpha, beta), Update<T>(alpha, 1.0));
    from.data += columns * from.col, to.data += columns * to.col;
  }
}

}  // namespace diagsparse::cuda::csb
