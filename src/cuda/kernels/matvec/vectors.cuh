// y = A x of diagonals, and of entries outside of them if there are any: what kernel "row" of dia, hm, cdm and qband
// runs for vectors. diagonals/row.cu describes it.
#pragma once

#include "core/diagonals.hpp"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "kernels/matvec/rest.cuh"
#include "kernels/matvec/terms.cuh"

namespace diagsparse::cuda::matvec {

// Item k of a list [begin, end) that is read alternately from both ends.
inline __device__ int alternating(int k, int begin, int end) { return k % 2 == 0 ? begin + k / 2 : end - 1 - k / 2; }

// Number of blocks per multiprocessor to aim for, which limits their registers. Four blocks allow 64 per thread, and
// read float64 at the speed of a copy on an H200; without a limit the kernel used 96, and 19 % more time. Types that
// need fewer registers run with five blocks, pairs that need more with three.
template <class U, class V>
constexpr int kBlocksFor = sizeof(V) == 4 && !is_complex<U>    ? 5
                           : sizeof(V) == 16 && sizeof(U) <= 8 ? 3
                                                               : 4;

// A block processes neighbouring rows, a warp 32 Rows of them, and a thread every 32nd of these. It reads At terms at a
// time, so that all of their loads are in flight together. Shared: all warps process the same rows, and each handles a
// part of the terms. mirrored: the terms are read alternately from both ends of the list, so that opposite diagonals of
// symmetric storage are in cache at the same time. Rest: entries of a row outside of the diagonals (rest.cuh).
template <int Rows, int At, bool Shared, class U, class V, class Rest>
__global__ void __launch_bounds__(kBlock, kBlocksFor<U, V>)
    vector_rows(const Term* terms, int count, const __grid_constant__ Interior interior, const U* values, bool conj,
                bool mirrored, const V* x, Product<U, V>* y, int64 rows, const Rest rest,
                const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int warps = kBlock / 32, splits = Shared ? warps : 1, block_rows = (Shared ? 32 : kBlock) * Rows;
  __shared__ CommonTerm near[kTerms + splits * At];  // padded, because threads read past the end
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 start = static_cast<int64>(blockIdx.x) * block_rows, stop = start + block_rows;
  const int64 i = start + (Shared ? 0 : warp * (32 * Rows)) + lane;
  const bool inside = start >= interior.first && stop <= interior.last;
  T sums[Rows] = {};
  const auto add_terms = [&](int end, auto holds) {
    for (int t = Shared ? warp * At : 0; t < end; t += At * splits) {
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
            const bool conjugate = is_complex<U> && conj != near[t + k].conjugated;
            sums[r] += multiply(conjugate_if(conjugate, arithmetic(u[k][r])), v[k][r]);
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
      near[k] = shared_term(terms[mirrored ? alternating(t - begin + k, begin, end) : t + k]);
    }
    __syncthreads();
    if (inside) add_terms(some, [](const CommonTerm&, int64) { return true; });
    else add_terms(some, [](const CommonTerm& term, int64 row) { return term.holds(row); });
  }
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    if (i + 32 * r < rows) rest.add(i + 32 * r, 0, sums[r], x, 1, Shared ? warp : 0, splits);
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

// Launches the kernel for contiguous x and y.
template <class U, class V, class Rest>
void multiply_vector(const ResidentTerms& resident_data, const U* values, bool conj, bool mirrored, const Dense& x,
                     const Dense& y, const Rest& rest, const Update<Product<U, V>>& update) {
  constexpr int64 small = 1 << 17;  // rows below which a matrix is small
  constexpr int each = sizeof(U) <= 8 ? 2 : 1;
  const auto run = [&](auto kernel, int block_rows) {
    launch("matvec row", kernel, dim3(static_cast<unsigned>(ceil_div(y.rows, block_rows))), dim3(kBlock),
           resident_data.terms_begin(), resident_data.count, resident_data.interior, values, conj, mirrored, x.as<V>(),
           y.as<Product<U, V>>(), y.rows, rest, update);
  };
  if (y.rows < small) run(vector_rows<1, 4, true, U, V, Rest>, 32);
  else run(vector_rows<each, 4, false, U, V, Rest>, kBlock * each);
}

}  // namespace diagsparse::cuda::matvec
