// Kernel "row" of dia, hm and cdm, the default of all three: y = alpha op(A) x + beta y.
//
//   op(A): m x n, D diagonals, each a term of the list (core/diagonals.hpp): row i has its value at values[u + i] and
//   meets x[v + i], for first <= i < last.  x: n, or n x k.  y: m, or m x k.  Bytes at least: A + x + y.
//
// Large matrices times blocks of columns, and times vectors whose values are wider than the stored ones, bring their
// diagonals and X through shared memory: window/kernel.cuh, for contiguous X. Other blocks of columns: blocks.cuh.
// Layouts with a period: period/matvec.cu. All other vectors are multiplied here.
//
// A thread takes a few rows, 32 apart; it walks the diagonals that meet them, several at a time, and keeps its sums in
// registers. A's values are read once, past the caches, by whole warps at neighbouring addresses, wherever a diagonal
// starts; x comes from the caches, where the rows nearby have brought it. A block has the list of diagonals in shared
// memory; the blocks between the ends of the diagonals, nearly all, test nothing. Of small matrices the warps of a
// block share the rows, each a part of the diagonals. A sum adds up in an order that the matrix alone decides: the same
// bits on every run.
#include "device/dense.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/diagonal_kernels.hpp"
#include "kernels/matvec/blocks.cuh"
#include "kernels/matvec/terms.cuh"
#include "kernels/period/matvec.hpp"
#include "kernels/window/kernel.cuh"

namespace diagsparse::cuda::matvec {

namespace {

// Item k of a list [begin, end) that is taken from both ends in turns.
inline __device__ int in_turns(int k, int begin, int end) { return k % 2 == 0 ? begin + k / 2 : end - 1 - k / 2; }

// Blocks that a multiprocessor is to hold, which limits their registers: four leave 64 a thread, and read float64 at
// the copy's speed on an H200; without a limit they took 96, and 19 % more time. Types that need fewer have five, pairs
// that need more three.
template <class U, class V>
constexpr int kBlocksFor = sizeof(V) == 4 && !is_complex<U>    ? 5
                           : sizeof(V) == 16 && sizeof(U) <= 8 ? 3
                                                               : 4;

// A block takes neighbouring rows, a warp 32 Rows of them, a thread every 32nd; At terms at a time, so that their
// values are on their way together. Shared: all warps take the same rows, each its share of the terms. Mirrored: the
// terms are taken from both ends of the list in turns, so that opposite diagonals of symmetric storage meet in cache.
template <int Rows, int At, bool Shared, class U, class V>
__global__ void __launch_bounds__(kBlock, kBlocksFor<U, V>)
    vector_rows(const Term* terms, int count, const __grid_constant__ Interior interior, const U* values, bool conj,
                bool mirrored, const V* x, Product<U, V>* y, int64 rows,
                const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int warps = kBlock / 32, shares = Shared ? warps : 1, block_rows = (Shared ? 32 : kBlock) * Rows;
  __shared__ NearTerm near[kTerms + shares * At];  // and room to look past their end
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 start = static_cast<int64>(blockIdx.x) * block_rows, stop = start + block_rows;
  const int64 i = start + (Shared ? 0 : warp * (32 * Rows)) + lane;
  const bool inside = start >= interior.first && stop <= interior.last;
  T sums[Rows] = {};
  const auto walk = [&](int end, auto holds) {
    for (int t = Shared ? warp * At : 0; t < end; t += At * shares) {
      U u[At][Rows];
      V v[At][Rows];
#pragma unroll
      for (int k = 0; k < At; ++k) {
        const U* from_u = values + near[t + k].u + i;
        const V* from_v = x + near[t + k].v + i;
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            u[k][r] = load_once(from_u + 32 * r);
            v[k][r] = load(from_v + 32 * r);
          }
        }
      }
#pragma unroll
      for (int k = 0; k < At; ++k) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          if (t + k < end && holds(near[t + k], i + 32 * r)) {
            const bool turned = is_complex<U> && conj != near[t + k].conjugated;
            sums[r] += multiply(conjugate_if(turned, arithmetic(u[k][r])), v[k][r]);
          }
        }
      }
    }
  };
  const int begin = inside ? interior.term : 0, end = inside ? interior.term_end : count;
  for (int t = begin; t < end; t += kTerms) {
    const int some = min(end - t, kTerms);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) {
      near[k] = near_term(terms[mirrored ? in_turns(t - begin + k, begin, end) : t + k]);
    }
    __syncthreads();
    if (inside) walk(some, [](const NearTerm&, int64) { return true; });
    else walk(some, [](const NearTerm& term, int64 row) { return term.holds(row); });
  }
  if constexpr (Shared) {
    __shared__ Bits<T> parts[warps][32 * Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) parts[warp][lane + 32 * r] = to_bits(sums[r]);
    __syncthreads();
    if (warp > 0) return;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      for (int w = 1; w < warps; ++w) sums[r] += from_bits<T>(parts[w][lane + 32 * r]);
    }
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (i + 32 * r < rows) update.one(y + i + 32 * r, sums[r]);
  }
}

template <class U, class V>
struct RowMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (a.layout().packing.period > 0) return period::matvec(dtype_of<U>(), dtype_of<V>())(a, op, alpha, x, beta, y);
    const auto kept = resident_terms(a, op);
    const bool mirrored = a.layout().packing.symmetry != Symmetry::none;
    const Update<T> update(alpha, beta);
    const U* values = a.values.as<U>();
    const auto vector = [&](auto kernel, int block_rows) {
      launch("matvec row", kernel, dim3(static_cast<unsigned>(ceil_div(y.rows, block_rows))), dim3(kBlock),
             kept->terms_begin(), kept->count, kept->interior, values, op.conjugated, mirrored, x.as<V>(), y.as<T>(),
             y.rows, update);
    };
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      if constexpr (sizeof(U) < sizeof(V)) {
        if (!mirrored && window::multiply_windows<window::OfVectors<V>, U, V>(a, op, *kept, x, y, update)) return;
      }
      constexpr int each = sizeof(U) <= 8 ? 2 : 1;
      if (y.rows < kSmall) vector(vector_rows<1, 4, true, U, V>, 32);
      else vector(vector_rows<each, 4, false, U, V>, kBlock * each);
    } else if (in_pieces<V>(x, y)) {
      if (window::multiply_windows<window::OfBlocks<V>, U, V>(a, op, *kept, x, y, update)) return;
      const int64 all = x.cols / kPiece<V>;
      const int pieces = pieces_a_row(all);
      const dim3 grid(static_cast<unsigned>(ceil_div(y.rows, kBlock / 32 * rows_a_warp(pieces))),
                      static_cast<unsigned>(all / pieces));
      launch("matvec row", block_pieces<U, V>, grid, dim3(kBlock), kept->terms_begin(), kept->count, kept->interior,
             values, op.conjugated, Block<const V>(x), Block<T>(y), y.rows, pieces, update);
    } else {
      multiply_block<U, V>(*kept, Neighbouring(), values, op.conjugated, x, y, update);
    }
  }

 private:
  static constexpr int64 kSmall = 1 << 17;  // rows
};

}  // namespace

MatvecRow row() {
  return {"row", every_stored_pair<RowMatvec, MatvecKernel>(), [](const Matrix& a, Op op) { resident_terms(a, op); }};
}

}  // namespace diagsparse::cuda::matvec
