// Blocks of columns times rows that are stored at equal steps: ell, sell and jds.
//
// Y = alpha A X + beta Y.
//   A: as layouts/rows.hpp describes it.  X: n x k, Y: m x k, fastest in C order.
//
// A group of `lanes` threads computes a stored row, each of them 16 bytes of the row of Y, so that neighbouring threads
// read neighbouring elements of a row of X. The threads of a block first copy the next entries of all of its rows to
// shared memory, where neighbouring threads read those of neighbouring rows:
//
//     rows        r0  r1  r2  r3
//     entries     0   0   0   0      read line by line, each in order
//                 1   1   1   1
//                 2   2   2   2      used column by column, by the `lanes` threads of its row
//
// Then each group adds them up in order, up to the first padding. So an entry is read once for up to 32 packets of a
// row of X. The terms of a sum are added in the order of the columns, for any number of columns of X, so every run
// gives the same bits.
#pragma once

#include <type_traits>

#include "device/dense.cuh"
#include "device/values.cuh"
#include "layouts/columns.cuh"
#include "layouts/rows.hpp"

namespace diagsparse::cuda {

constexpr int kFetch = 4;  // entries that a thread copies at a time, and uses at a time

// Number of elements of a row of X that a thread reads together.
template <class V>
constexpr int kColumnsEach = 16 / static_cast<int>(sizeof(V));

// Threads for each row: a power of two.
template <class V>
int lanes_for_columns(int64 cols) {
  int lanes = 1;
  while (lanes < 32 && lanes * kColumnsEach<V> < cols) lanes *= 2;
  return lanes;
}

// Whether rows of X consist of aligned packets of 16 bytes.
template <class V>
bool rows_in_packets(const Dense& x) {
  constexpr int width = kColumnsEach<V>;
  return x.col_stride == 1 && x.cols % width == 0 && x.row_stride % width == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

// Elements column ... column + Width - 1 of a row of X that begins at p. Packets: they are aligned to 16 bytes.
template <int Width, class V>
__device__ void load_columns(const V* p, int64 apart, int64 there, bool packets, V (&out)[Width]) {
  if (packets) {
    const uint4 packet = __ldg(reinterpret_cast<const uint4*>(p));
    __builtin_memcpy(out, &packet, sizeof(packet));
    return;
  }
#pragma unroll
  for (int c = 0; c < Width; ++c) out[c] = c < there ? load(p + c * apart) : V{};
}

// Multiplies the first `most` entries of each row.
template <class A, class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_row_groups(const A a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                        int lanes, bool packets, int64 most, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int width = kColumnsEach<V>;
  __shared__ Bits<U> values[kFetch * kBlock];
  __shared__ std::int32_t columns[kFetch * kBlock];
  const int rows = kBlock / lanes, depth = kFetch * lanes;  // of the entries in shared memory
  const int64 first = static_cast<int64>(blockIdx.x) * rows;
  const int of_copy = threadIdx.x % rows, of_sum = threadIdx.x / lanes;
  const int64 column = (static_cast<int64>(blockIdx.y) * lanes + threadIdx.x % lanes) * width;
  const int64 there = cols - column;
  const V* const from = x.data + column * x.col;

  const int64 p = first + of_copy;
  const StoredRow copied = p < a.rows ? a.stored_row(p) : StoredRow{};
  const int64 end = min(copied.end, copied.begin + most * copied.step);
  T sums[width] = {};
  // Adds the entries in shared memory to the sums; returns whether the row may continue.
  const auto add = [&](auto in_packets) {
    const auto add_some = [&](auto count, int w) {
      V elements[count][width];
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const auto j = static_cast<unsigned>(columns[(w + k) * rows + of_sum]);
        load_columns(from + j * x.row, x.col, there, in_packets, elements[k]);
      }
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const U value = conjugate_if(conj, from_bits<U>(values[(w + k) * rows + of_sum]));
#pragma unroll
        for (int c = 0; c < width; ++c) sums[c] += multiply(value, elements[k][c]);
      }
    };
    if (there <= 0) return columns[(depth - 1) * rows + of_sum] >= 0;
    int w = 0;
    for (; w < depth && columns[(w + kFetch - 1) * rows + of_sum] >= 0; w += kFetch) {
      add_some(std::integral_constant<int, kFetch>(), w);
    }
    if (w == depth) return true;
    for (; columns[w * rows + of_sum] >= 0; ++w) add_some(std::integral_constant<int, 1>(), w);
    return false;
  };
  for (int64 base = threadIdx.x / rows;; base += depth) {
#pragma unroll
    for (int k = 0; k < kFetch; ++k) {
      const int64 w = base + k * lanes, e = copied.begin + w * copied.step;
      const bool exists = e < end;
      columns[threadIdx.x + k * kBlock] = exists ? column_of(a, p, w, e) : -1;
      if (exists) values[threadIdx.x + k * kBlock] = to_bits(load(a.values + e));
    }
    __syncthreads();
    const bool more = packets ? add(std::true_type()) : add(std::false_type());
    if (!__syncthreads_or(more)) break;
  }
  if (first + of_sum >= a.rows) return;
  T* const to = y.data + a.stored_row(first + of_sum).row * y.row + column * y.col;
#pragma unroll
  for (int c = 0; c < width; ++c) {
    if (c < there) update.one(to + c * y.col, sums[c]);
  }
}

// The first `most` entries of each row times a block of columns.
template <class A, class U, class V>
void multiply_columns(const char* name, const A& a, int64 most, Op op, const Dense& x, const Dense& y,
                      const Update<Product<U, V>>& update) {
  constexpr int width = kColumnsEach<V>;
  const int lanes = lanes_for_columns<V>(x.cols);
  const bool packets = rows_in_packets<V>(x);
  Block<const V> from(x);
  Block<Product<U, V>> to(y);
  const int64 columns = int64{65535} * lanes * width;  // of a grid
  for (int64 c = 0; c < x.cols; c += columns) {
    const int64 cols = std::min(x.cols - c, columns);
    const dim3 grid(static_cast<unsigned>(ceil_div(a.rows, kBlock / lanes)),
                    static_cast<unsigned>(ceil_div(cols, lanes * width)));
    launch(name, multiply_row_groups<A, U, V>, grid, dim3(kBlock), a, op.conjugated, from, to, cols, lanes, packets,
           most, update);
    from.data += columns * from.col, to.data += columns * to.col;
  }
}

}  // namespace diagsparse::cuda
