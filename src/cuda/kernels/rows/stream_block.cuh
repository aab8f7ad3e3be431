// Y = alpha op(A) X + beta Y by rows, of a block of columns: the entries of a chunk are in shared memory (stream.cu).
//
// A thread computes two columns of a row. If the columns of X are contiguous, neighbouring threads compute neighbouring
// columns; several threads divide the entries of a long row. So a block reads its entries once for all of its columns,
// and complete contiguous parts of the rows of X and Y.
#pragma once

#include <type_traits>

#include "device/lanes.cuh"
#include "kernels/rows/stream_chunk.cuh"

namespace diagsparse::cuda::rows::streams {

// How a block of columns is divided: `width` neighbouring threads compute 2 * width columns of a row, and a thread
// block computes `columns` of them.
struct Columns {
  int width, columns;
};

// Loads two columns of x. If Pairs, they are contiguous, at an address aligned to both; otherwise they are `apart`
// elements apart.
template <bool Pairs, class V>
__device__ void load_two(const V* p, int64 apart, V& left, V& right) {
  if constexpr (Pairs) {
    using Packet = std::conditional_t<sizeof(V) == 4, uint2, uint4>;
    static_assert(2 * sizeof(V) == sizeof(Packet));
    const Packet packet = __ldg(reinterpret_cast<const Packet*>(p));
    __builtin_memcpy(&left, &packet, sizeof(V));
    __builtin_memcpy(&right, reinterpret_cast<const char*>(&packet) + sizeof(V), sizeof(V));
  } else {
    left = load(p), right = load(p + apart);
  }
}

// Adds the products of every step-th entry with two columns of x, from entry e on, several of them in flight together.
// entry(e, value) returns the column of A.
template <bool Pairs, class U, class V, class T, class Entry>
__device__ void add_products(T (&sum)[2], int e, int end, int step, const Entry& entry, const V* x, int64 row,
                             int64 apart) {
  const auto add = [&]<int Count>(std::integral_constant<int, Count>) {
    U value[Count];
    V left[Count], right[Count];
#pragma unroll
    for (int k = 0; k < Count; ++k) {
      load_two<Pairs>(x + static_cast<unsigned>(entry(e + k * step, value[k])) * row, apart, left[k], right[k]);
    }
#pragma unroll
    for (int k = 0; k < Count; ++k) sum[0] += multiply(value[k], left[k]), sum[1] += multiply(value[k], right[k]);
    e += Count * step;
  };
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 1> one;
  if constexpr (sizeof(V) > 8) {
    while (e + step < end) add(two);
  } else {
    while (e + 3 * step < end) add(four);
    if (e + step < end) add(two);
  }
  if (e < end) add(one);
}

template <bool Pairs, class U, class V>
__global__ void __launch_bounds__(kThreads, sizeof(Product<U, V>) > 8 ? 4 : 6)
    stream_block(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int cols,
                 const Columns by, const __grid_constant__ Update<Product<U, V>> update, const ChunkStart* first) {
  using T = Product<U, V>;
  constexpr int widest = 8, batch = 4;  // threads across columns; rows of the list that are summed together
  __shared__ U values[kProducts];
  __shared__ std::int32_t columns[kProducts];
  __shared__ T parts[batch][kWarps][2 * widest];
  __shared__ int list[kListed], listed;
  const Chunk chunk(a.indptr, first);
  const int width = by.width, group = 2 * width, mean = chunk.mean();
  int team = width;  // threads per row: as many as there are, with at least four entries each
  while (team < 32 && 2 * team * chunk.rows <= kThreads && 8 * team <= mean * width) team *= 2;
  const int lanes = team / width, lane = threadIdx.x % team / width, position = threadIdx.x % width;

  if (threadIdx.x == 0) listed = 0;
  const Fetched<U> fetched(a, chunk, false);
  Row row(chunk, threadIdx.x / team);
  fetched.each(chunk, [&](int k, int e) {
    values[e] = conjugate_if(conj, fetched.values[k]);
    columns[e] = fetched.columns[k];
  });
  __syncthreads();

  const auto fits = [&](int e, U& value) {
    value = values[e];
    return columns[e];
  };
  const auto stored = [&](int e, U& value) {
    value = conjugate_if(conj, a.value(chunk.entry + e));
    return load(a.indices + chunk.entry + e);
  };
  // This thread's columns of a group: c and c + apart. If the second one does not exist, the first is computed instead
  // and not written.
  const int own = Pairs ? 2 * position : position, apart = Pairs ? 1 : width;
  const int begin_col = blockIdx.y * by.columns, end_col = min(cols, begin_col + by.columns);
  const auto add = [&](T(&sum)[2], int c, int e, int end, int step, const auto& entry) {
    if (c >= end_col) return;
    const int64 other = c + apart < end_col ? apart * x.col : 0;
    add_products<Pairs, U>(sum, e, end, step, entry, x.data + c * x.col, x.row, other);
  };
  const auto write = [&](int i, int c, T sum) {
    if (c < end_col) update.one(y.data + (chunk.row + i) * y.row + c * y.col, sum);
  };

  for (int base = 0; base < chunk.rows; base += kThreads / team) {  // all threads of a warp advance together
    const int i = base + threadIdx.x / team;
    const bool there = i < chunk.rows && !(row.empty() && update.add);
    const bool is_long = row.end - row.begin > kLongFactor * lanes;
    if (there && is_long && threadIdx.x % team == 0) list[atomicAdd(&listed, 1)] = i;
    for (int c = begin_col + own; c - own < end_col; c += group) {
      T sum[2]{};
      if (!is_long) add(sum, c, row.begin + lane, row.end, lanes, fits);
      for (T& s : sum) s = sum_of_lanes(s, team, width);  // over threads that have the same columns
      if (there && !is_long && lane == 0) write(i, c, sum[0]), write(i, c + apart, sum[1]);
    }
    row = Row(chunk, i + kThreads / team);
  }
  __syncthreads();
  if (chunk.oversized && threadIdx.x == 0) list[listed++] = chunk.rows;
  __syncthreads();

  // Rows on the list: every thread of the block processes a part of each.
  for (int done = 0; done < listed; done += batch) {
    const int here = min(batch, listed - done);
    for (int c = begin_col + own; c - own < end_col; c += group) {
      for (int r = 0; r < here; ++r) {
        const int i = list[done + r], e = chunk.begin(i) + threadIdx.x / width, end = chunk.begin(i + 1);
        T sum[2]{};
        if (i < chunk.rows) add(sum, c, e, end, kThreads / width, fits);
        else add(sum, c, e, end, kThreads / width, stored);
        for (T& s : sum) s = sum_of_lanes(s, 32, width);
        if (threadIdx.x % 32 < width) {
          T* const part = parts[r][threadIdx.x / 32];
          part[own] = sum[0], part[own + apart] = sum[1];
        }
      }
      __syncthreads();
      if (threadIdx.x < here * group) {
        const int r = threadIdx.x / group, column = threadIdx.x % group;
        T sum = parts[r][0][column];
        for (int w = 1; w < kWarps; ++w) sum += parts[r][w][column];
        write(list[done + r], c - own + column, sum);
      }
      __syncthreads();
    }
  }
}

}  // namespace diagsparse::cuda::rows::streams
