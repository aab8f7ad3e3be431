// Y = A X where a row of X lies together: what kernel "row" runs for blocks of columns that come in pieces of 16 bytes.
#pragma once

#include "core/diagonals.hpp"
#include "dense.cuh"
#include "memory.cuh"

namespace diagsparse::cuda {

constexpr int kBlockTerms = 128;  // diagonals that a block has in shared memory at a time

// Columns in a piece of 16 bytes.
template <class V>
constexpr int kPiece = 16 / static_cast<int>(sizeof(V));

// A thread takes one piece of columns of Rows rows; neighbours take the row's next piece, so a warp reads X in whole
// lines and A's values once for all pieces. `pieces` threads share a row; blockIdx.y counts what lies beyond them.
template <int Rows, class U, class V>
__global__ void __launch_bounds__(kBlock)
    block_pieces(const Term* terms, int count, const U* values, bool conj, const Block<const V> x,
                 const Block<Product<U, V>> y, int64 rows, int pieces,
                 const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int width = kPiece<V>;
  __shared__ Term near[kBlockTerms];
  const int pass = kBlock / pieces, local = threadIdx.x / pieces;  // rows at a time
  const int64 column = (static_cast<int64>(blockIdx.y) * pieces + threadIdx.x % pieces) * width;
  const int64 first = static_cast<int64>(blockIdx.x) * (pass * Rows) + local;
  T sums[Rows][width] = {};
  for (int t0 = 0; t0 < count; t0 += kBlockTerms) {
    const int some = min(count - t0, kBlockTerms);
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += kBlock) near[k] = terms[t0 + k];
    __syncthreads();
    if (local >= pass) continue;
#pragma unroll 2
    for (int k = 0; k < some; ++k) {
      const Term& term = near[k];
      U u[Rows];
      uint4 bits[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const int64 i = first + r * pass;
        if (i < term.first || i >= term.last) continue;
        u[r] = conjugate_if(conj, load_once(values + term.u + i));
        bits[r] = __ldg(reinterpret_cast<const uint4*>(x.data + (term.v + i) * x.row + column));
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const int64 i = first + r * pass;
        if (i < term.first || i >= term.last) continue;
        V v[width];
        memcpy(v, &bits[r], sizeof v);
#pragma unroll
        for (int c = 0; c < width; ++c) sums[r][c] += multiply(u[r], v[c]);
      }
    }
  }
  if (local >= pass) return;
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const int64 i = first + r * pass;
    if (i >= rows) break;
#pragma unroll
    for (int c = 0; c < width; ++c) update.one(y.data + i * y.row + column + c, sums[r][c]);
  }
}

// Whether X and Y lie so.
template <class V>
bool in_pieces(const Dense& x, const Dense& y) {
  constexpr int width = kPiece<V>;
  return x.cols > 1 && x.col_stride == 1 && y.col_stride == 1 && x.cols % width == 0 && x.row_stride % width == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0;
}

// The threads that share a row: 32 at most, and all of them with a piece.
inline int pieces_a_row(int64 pieces) {
  int64 shared = std::min<int64>(pieces, 32);
  while (pieces % shared != 0) --shared;
  return static_cast<int>(shared);
}

}  // namespace diagsparse::cuda
