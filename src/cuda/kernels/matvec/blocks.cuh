// Y = A X: what kernel "row" runs for blocks of columns that window/kernel.cuh does not support. `block_packets` if a
// row of X is contiguous and consists of aligned packets of 16 bytes, otherwise `block_rows`.
//
//   op(A): m x n, as in diagonals/row.cu.  X: n x k, Y: m x k, of any strides.
//
// Neighbouring threads read neighbouring elements of X, and each value of A is read once for all columns of a block.
// The terms of a sum are added in the order of the list, so every run gives the same bits.
#pragma once

#include "core/diagonals.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"
#include "kernels/matvec/packets.cuh"
#include "kernels/matvec/rest.cuh"
#include "kernels/matvec/terms.cuh"

namespace diagsparse::cuda::matvec {

constexpr int kPasses = 2;  // packets per thread, one in each of as many rows
constexpr int kAhead = 8;   // values of A that a thread loads at a time

// Threads per row, with one packet each: a power of two, 32 at most.
inline int packets_per_row(int64 packets) { return static_cast<int>(std::min<int64>(packets & -packets, 32)); }
inline __host__ __device__ int rows_per_warp(int packets) { return kPasses * 32 / packets; }

// `packets` lanes process a row, so that a warp reads complete sectors of x. A warp processes kPasses times as many
// rows as its lanes cover at once. It loads the values of A for its rows and several diagonals at a time through shared
// memory, so that they are read once and in complete sectors, too. blockIdx.y counts groups of packets along a row.
template <class U, class V, class Rest>
__global__ void __launch_bounds__(kBlock, sizeof(V) <= 8 && !is_complex<U> ? 4 : 2)
    block_packets(const Term* terms, int count, const __grid_constant__ Interior interior, const U* values, bool conj,
                  const Block<const V> x, const Block<Product<U, V>> y, int64 rows, int packets, const Rest rest,
                  const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int width = kPacket<V>, warps = kBlock / 32;
  __shared__ CommonTerm near[kTerms];
  __shared__ Bits<U> staged[warps][32 * kAhead];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rows_per_pass = 32 / packets,
            mine = kPasses * rows_per_pass;
  const int ahead = 32 * kAhead / mine, shift = __ffs(mine) - 1;
  const int64 start = static_cast<int64>(blockIdx.x) * (warps * mine), stop = start + warps * mine;
  const int64 first = start + warp * mine, row = first + lane / packets;
  const int64 column = (static_cast<int64>(blockIdx.y) * packets + lane % packets) * width;
  const bool inside = start >= interior.first && stop <= interior.last;
  const V* from[kPasses];
#pragma unroll
  for (int p = 0; p < kPasses; ++p) from[p] = x.data + (row + p * rows_per_pass) * x.row + column;
  T sums[kPasses][width] = {};
  const auto add_terms = [&](int end, auto holds) {
    for (int t = 0; t < end; t += ahead) {
      const int some = min(ahead, end - t);
      Bits<U> bits[kAhead];
#pragma unroll
      for (int j = 0; j < kAhead; ++j) {
        const int e = lane + 32 * j, k = e >> shift;
        const int64 i = first + (e & (mine - 1));
        if (k < some && holds(near[t + k], i)) bits[j] = to_bits(load_once(values + near[t + k].u + i));
      }
      __syncwarp();
#pragma unroll
      for (int j = 0; j < kAhead; ++j) staged[warp][lane + 32 * j] = bits[j];
      __syncwarp();
      const Bits<U>* local = staged[warp] + lane / packets;
#pragma unroll 2
      for (int k = 0; k < some; ++k) {
        const CommonTerm& term = near[t + k];
        const bool conjugate = is_complex<U> && conj != term.conjugated;
        uint4 packet[kPasses];
#pragma unroll
        for (int p = 0; p < kPasses; ++p) {
          if (holds(term, row + p * rows_per_pass)) packet[p] = __ldg(reinterpret_cast<const uint4*>(from[p] + term.v));
        }
#pragma unroll
        for (int p = 0; p < kPasses; ++p) {
          if (!holds(term, row + p * rows_per_pass)) continue;
          const auto value = conjugate_if(conjugate, arithmetic(from_bits<U>(local[(k << shift) + p * rows_per_pass])));
          V of_x[width];
          memcpy(of_x, &packet[p], sizeof of_x);
#pragma unroll
          for (int c = 0; c < width; ++c) sums[p][c] += multiply(value, of_x[c]);
        }
      }
    }
  };
  const int begin = inside ? interior.term : 0, end = inside ? interior.term_end : count;
  for (int t = begin; t < end; t += kTerms) {
    const int some = min(end - t, kTerms);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) {
      near[k] = shared_term(terms[t + k]);
      near[k].v *= x.row;
    }
    __syncthreads();
    if (inside) add_terms(some, [](const CommonTerm&, int64) { return true; });
    else add_terms(some, [](const CommonTerm& term, int64 i) { return term.holds(i); });
  }
#pragma unroll
  for (int p = 0; p < kPasses; ++p) {
    const int64 i = row + p * rows_per_pass;
    if (i >= rows) continue;
    rest.add_packet(i, column, sums[p], x);
    update_packet(update, y.data + i * y.row + column, sums[p]);
  }
}

// Whether X and Y can be accessed in packets.
template <class V>
bool in_packets(const Dense& x, const Dense& y) {
  constexpr int width = kPacket<V>;
  return x.cols > 1 && x.col_stride == 1 && y.col_stride == 1 && x.cols % width == 0 && x.row_stride % width == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

// Position of a term's value in row i: one after that of row i - 1.
struct Neighbouring {
  struct Row {
    int64 i;

    __device__ int64 value(const Term& term) const { return term.u + i; }
  };

  __device__ Row row(int64 i) const { return {i}; }
};

// A thread processes one row and Columns columns of the block, `groups` apart. Consecutive threads follow the axis on
// which x is contiguous. Where: the positions of the values.
template <int Columns, class Where, class U, class V, class Rest>
__global__ void __launch_bounds__(kBlock)
    block_rows(const Term* terms, int count, const Where where, const U* values, bool conj, const Block<const V> x,
               const Block<Product<U, V>> y, int64 rows, int64 cols, int64 groups, bool along_columns, const Rest rest,
               const __grid_constant__ Update<Product<U, V>> update) {
  const int64 t0 = thread_index();
  if (t0 >= rows * groups) return;
  const int64 i = along_columns ? t0 / groups : t0 % rows, group = along_columns ? t0 % groups : t0 / rows;
  const auto row = where.row(i);
  Product<U, V> sums[Columns] = {};
  for (const Term* t = terms; t != terms + count; ++t) {
    if (i < t->first || i >= t->last) continue;
    const auto value = conjugate_if(conj != t->conjugated, arithmetic(load(values + row.value(*t))));
    const V* v = x.data + (t->v + i) * x.row;
#pragma unroll
    for (int k = 0; k < Columns; ++k) {
      const int64 c = group + k * groups;
      if (c < cols) sums[k] += multiply(value, load(v + c * x.col));
    }
  }
#pragma unroll
  for (int k = 0; k < Columns; ++k) {
    const int64 c = group + k * groups;
    if (c >= cols) continue;
    rest.add(i, c, sums[k], x.data + c * x.col, x.row);
    update.one(y.data + i * y.row + c * y.col, sums[k]);
  }
}

template <class U, class V, class Where, class Rest>
void multiply_block(const ResidentTerms& resident_data, const Where& where, const U* values, bool conj, const Dense& x,
                    const Dense& y, const Rest& rest, const Update<Product<U, V>>& update) {
  constexpr int columns = 4;
  const int64 groups = ceil_div(x.cols, columns);
  launch("matvec row", block_rows<columns, Where, U, V, Rest>, blocks(y.rows * groups), dim3(kBlock),
         resident_data.terms_begin(), resident_data.count, where, values, conj, Block<const V>(x),
         Block<Product<U, V>>(y), y.rows, x.cols, groups, x.col_stride == 1, rest, update);
}

// For X and Y that can be accessed in packets.
template <class U, class V, class Rest>
void multiply_packets(const ResidentTerms& resident_data, const U* values, bool conj, const Dense& x, const Dense& y,
                      const Rest& rest, const Update<Product<U, V>>& update) {
  const int64 all = x.cols / kPacket<V>;
  const int packets = packets_per_row(all);
  const int64 groups = all / packets, most = 65535;  // number of groups of packets, and the limit of a grid in y
  const auto rows = static_cast<unsigned>(ceil_div(y.rows, kBlock / 32 * rows_per_warp(packets)));
  Block<const V> in(x);
  Block<Product<U, V>> out(y);
  for (int64 first = 0; first < groups; first += most) {
    const dim3 grid(rows, static_cast<unsigned>(std::min(groups - first, most)));
    launch("matvec row", block_packets<U, V, Rest>, grid, dim3(kBlock), resident_data.terms_begin(),
           resident_data.count, resident_data.interior, values, conj, in, out, y.rows, packets, rest, update);
    in.data += most * packets * kPacket<V> * in.col;
    out.data += most * packets * kPacket<V> * out.col;
  }
}

}  // namespace diagsparse::cuda::matvec
