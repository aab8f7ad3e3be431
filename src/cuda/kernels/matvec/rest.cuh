// What rows have beside their diagonals, for the kernels of diagonals that also serve qband: here, nothing.
#pragma once

#include "device/dense.cuh"

namespace diagsparse::cuda::matvec {

struct NoRest {
  // Adds what row i has to a sum, of column c: x is that column, `row` its stride. Of several threads that share the
  // row each adds its part.
  template <class T, class V>
  __device__ void add(int64, int64, T&, const V*, int64, int = 0, int = 1) const {}
  // The same for the columns of a piece, from `column` on, which lie together.
  template <class T, int Width, class V>
  __device__ void add_piece(int64, int64, T (&)[Width], const Block<const V>&) const {}
};

}  // namespace diagsparse::cuda::matvec
