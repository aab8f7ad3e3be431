// csb on the GPU: conversion from and to rows, validation, and the kernel "block".
//
// y = alpha op(A) x + beta y.
//   A: m x n in blocks of size x size elements; entry e of block p, from block_indptr[p] to block_indptr[p + 1], is A[p
//   / across * size + local_row[e], p % across * size + local_col[e]] = values[e].  x: n, or n x k.  y: m, or m x k.
//
// A thread block processes up to kSums rows of a row of blocks. It finds where they begin and end in each block (whose
// entries are sorted by rows), and loops over these segments. A warp processes every kWarps-th 32 entries of a segment,
// sums those of one row by a segmented scan, and adds the sums to its own copy of this part of y, in shared memory; at
// the end the copies are added in order. There are no atomics, so every run gives the same bits. Reads of A are
// coalesced, those of x go through the caches, within `size` elements for each block. The kernel is meant for scattered
// entries; small blocks occupy few threads. Blocks of columns: multiply_block.cuh. A transpose is gathered by rows,
// with an index of them.
#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "device/c_order.hpp"
#include "device/dense.cuh"
#include "device/faults.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "formats/csb/layout.hpp"
#include "formats/csb/multiply_block.cuh"
#include "kernels/rows/kernels.hpp"

namespace diagsparse {

namespace cuda::csb {

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kWarps = kBlock / 32;
template <class T>
constexpr int kSums = 4096 / static_cast<int>(sizeof(T));  // sums in a warp's copy: 32 KiB for all of them

template <class T>
__device__ T from_lane_below(T v, int step) {
  if constexpr (is_complex<T>) {
    return {__shfl_up_sync(kAllLanes, v.re, step), __shfl_up_sync(kAllLanes, v.im, step)};
  } else {
    return __shfl_up_sync(kAllLanes, v, step);
  }
}

// Adds the products of a warp to the sums of their rows. The rows must not decrease from lane to lane, so one lane adds
// the sum of each row. A negative row is ignored.
template <class T>
__device__ void add_runs(int row, T product, T* sums) {
  const int lane = threadIdx.x % 32;
  const int before = __shfl_up_sync(kAllLanes, row, 1), after = __shfl_down_sync(kAllLanes, row, 1);
  if (__any_sync(kAllLanes, lane > 0 && before == row)) {
    for (int step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(kAllLanes, row, step);
      const T other = from_lane_below(product, step);
      if (lane >= step && below == row) product += other;
    }
  }
  if (row >= 0 && (lane == 31 || after != row)) sums[row] += product;
  __syncwarp();
}

template <class U, class V, class I>
__global__ void __launch_bounds__(kBlock)
    multiply_blocks_of_entries(const Csb<U, I> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y,
                               const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  __shared__ Bits<T> memory[kWarps][kSums<T>];
  __shared__ int64 begins[kBlock], ends[kBlock];  // ranges of this part's segments, in kBlock blocks at a time
  const int64 size = a.blocks.size, part = min(size, static_cast<int64>(kSums<T>));
  const int64 first = blockIdx.x * part, block_row = first / size, low = first % size;
  const int count = static_cast<int>(min(part, a.rows - first));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  T* const sums = reinterpret_cast<T*>(memory[warp]);
  const int64* const indptr = a.indptr + block_row * a.blocks.across;
  for (int i = lane; i < count; i += 32) sums[i] = T{};
  __syncthreads();
  for (int64 block = 0; block < a.blocks.across; block += kBlock) {
    const int64 mine = block + threadIdx.x;
    if (mine < a.blocks.across) {
      const int64 begin = indptr[mine], end = indptr[mine + 1];
      const auto rows_before = [&](int64 row) { return bisect(begin, end, [&](int64 e) { return a.row[e] < row; }); };
      begins[threadIdx.x] = low == 0 ? begin : rows_before(low);
      ends[threadIdx.x] = low + part == size ? end : rows_before(low + part);
    }
    __syncthreads();
    const int here = static_cast<int>(min(static_cast<int64>(kBlock), a.blocks.across - block));
    for (int b = 0; b < here; ++b) {
      const V* const in = x.data + (block + b) * size * x.row;
      // The first warp differs from block to block, so that blocks with few entries keep all warps busy.
      for (int64 start = begins[b] + (warp + b) % kWarps * 32; start < ends[b]; start += kBlock) {
        const int64 e = start + lane;
        int row = -1;
        T product{};
        if (e < ends[b]) {
          row = static_cast<int>(a.row[e] - low);
          product = multiply(conjugate_if(conj, load_once(a.values + e)), load(in + a.col[e] * x.row));
        }
        add_runs(row, product, sums);
      }
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < count; i += kBlock) {
    T sum{};
    for (int w = 0; w < kWarps; ++w) sum += reinterpret_cast<const T*>(memory[w])[i];
    update.one(y.data + (first + i) * y.row, sum);
  }
}

template <class U, class V>
struct BlockOfThreads {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    if (multiply_in_c_order(run, m, op, alpha, x, beta, y)) return;
    const int64 size = blocks_of(*m.structure).size, part = std::min<int64>(size, kSums<T>);
    const dim3 grid(static_cast<unsigned>(ceil_div(m.rows, part)));
    with_local_type(size, [&](auto index) {
      using I = decltype(index);
      if (x.cols > 1) return multiply_block<U, V, I>(Csb<U, I>::of(m), op, alpha, x, beta, y);
      launch("csb matvec", multiply_blocks_of_entries<U, V, I>, grid, dim3(kBlock), Csb<U, I>::of(m), op.conjugated,
             Block<const V>(x), Block<T>(y), Update<T>(alpha, beta));
    });
  }
};

FormatKernels make() { return {{{"block", every_pair<BlockOfThreads, MatvecKernel>(), rows::prepare_transpose}}, {}}; }
const RegisterKernels registered("csb", 0, make);

// ---- From rows and to rows: entries are sorted; a thread processes an entry ------------------------------
__global__ void __launch_bounds__(kBlock)
    write_block_keys(const Coordinates from, int64 count, const Blocks blocks, Key* keys, int64* positions) {
  const int64 e = thread_index();
  if (e >= count) return;
  keys[e] = static_cast<Key>(from.row_of(e) / blocks.size * blocks.across + from.col_of(e) / blocks.size);
  positions[e] = e;
}

// A thread processes a block: it begins at the number of keys of previous blocks.
__global__ void __launch_bounds__(kBlock)
    point_blocks(const Key* keys, int64 count, std::int64_t* indptr, int64 blocks) {
  const int64 p = thread_index();
  if (p > blocks) return;
  indptr[p] = bisect(0, count, [&](int64 e) { return keys[e] < static_cast<Key>(p); });
}

template <class T, class I>
__global__ void __launch_bounds__(kBlock) place_entries(const Coordinates from, const T* values, const int64* positions,
                                                        int64 count, int64 size, I* row, I* col, T* placed) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 origin = positions[e];
  row[e] = static_cast<I>(from.row_of(origin) % size);
  col[e] = static_cast<I>(from.col_of(origin) % size);
  placed[e] = values[origin];
}

template <class I>
__device__ int64 block_of(const Csb<float, I>& a, int64 e) {
  return bisect(1, a.blocks.count(), [&](int64 p) { return a.indptr[p] <= e; }) - 1;
}

template <class I>
__global__ void __launch_bounds__(kBlock)
    write_row_keys(const Csb<float, I> a, int64 count, bool transposed, Key* keys, int64* positions) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 p = block_of(a, e), size = a.blocks.size;
  const int64 i = p / a.blocks.across * size + a.row[e], j = p % a.blocks.across * size + a.col[e];
  keys[e] = transposed ? make_key(j, i) : make_key(i, j);
  positions[e] = e;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    gather_values(const T* values, const int64* positions, int64 count, bool conj, T* gathered) {
  const int64 e = thread_index();
  if (e < count) gathered[e] = conjugate_if(conj, values[positions[e]]);
}

// ---- Validation ---------------------------------------------------------------------------------------
template <class I>
__global__ void __launch_bounds__(kBlock)
    check_block_entries(const Csb<float, I> a, int64 count, Position* outside, Position* order) {
  const int64 e = thread_index();
  if (e >= count) return;
  const int64 p = block_of(a, e), size = a.blocks.size;
  const int64 rows = a.rows - p / a.blocks.across * size, cols = a.cols - p % a.blocks.across * size;
  const I i = a.row[e], j = a.col[e];
  if (i >= min(size, rows) || j >= min(size, cols)) return report(outside, e);
  if (e > a.indptr[p] && (i < a.row[e - 1] || (i == a.row[e - 1] && j <= a.col[e - 1]))) report(order, e);
}

}  // namespace

}  // namespace cuda::csb

using namespace cuda;
using namespace cuda::csb;

Matrix csb_from_rows(const Matrix& m, Blocks blocks) {
  const int64 count = m.values.size();
  Matrix result = empty_csb(m.rows, m.cols, blocks, count, m.dtype);
  const Coordinates from = Coordinates::of(m, {});
  Keys keys(count);
  launch("write keys", write_block_keys, cuda::blocks(count), dim3(kBlock), from, count, blocks, keys.key(),
         keys.position());
  sort(keys);
  launch("point blocks", point_blocks, cuda::blocks(blocks.count() + 1), dim3(kBlock), keys.key(), count,
         result.index("block_indptr").as<std::int64_t>(), blocks.count());
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_local_type(blocks.size, [&](auto index) {
      using I = decltype(index);
      launch("place entries", place_entries<T, I>, cuda::blocks(count), dim3(kBlock), from, m.values.as<T>(),
             keys.position(), count, blocks.size, result.index("local_row").as<I>(), result.index("local_col").as<I>(),
             result.values.as<T>());
    });
  });
  return result;
}

Matrix rows_from_csb(const Matrix& m, Op op) {
  const int64 count = m.values.size(), rows = op.transposed ? m.cols : m.rows, cols = op.transposed ? m.rows : m.cols;
  Keys keys(count);
  with_local_type(blocks_of(*m.structure).size, [&](auto index) {
    using I = decltype(index);
    launch("write keys", write_row_keys<I>, cuda::blocks(count), dim3(kBlock),
           Csb<float, I>::over(*m.structure, nullptr), count, op.transposed, keys.key(), keys.position());
  });
  sort(keys);
  SortedLines lines(keys.key(), count, rows);
  const Array values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("gather values", gather_values<T>, cuda::blocks(count), dim3(kBlock), m.values.as<T>(), keys.position(),
           count, op.conjugated, values.as<T>());
  });
  return compressed(*common, rows, cols, std::move(lines.indices), std::move(lines.indptr), values);
}

Fault fault_in_csb(const Structure& structure) {
  return with_local_type(blocks_of(structure).size, [&](auto index) -> Fault {
    using I = decltype(index);
    const auto a = Csb<float, I>::over(structure, nullptr);
    const int64 count = structure.values_shape.size();
    if (const Fault fault = fault_in_pointers(a.indptr, a.blocks.count(), count); fault.kind != Fault::none) {
      return fault;
    }
    const FirstFaults entries;
    launch("check entries", check_block_entries<I>, cuda::blocks(count), dim3(kBlock), a, count, entries.outside(),
           entries.order());
    return entries.fault(Fault::outside);
  });
}

}  // namespace diagsparse
