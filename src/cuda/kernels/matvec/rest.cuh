// Entries of rows outside of their diagonals. The kernels of diagonals also serve qband, which has such entries; here
// there are none.
#pragma once

#include "device/dense.cuh"

namespace diagsparse::cuda::matvec {

struct NoRest {
  // Adds the entries of row i to a sum of column c. x is this column and `row` its stride. If several threads process
  // the row, each adds its part.
  template <class T, class V>
  __device__ void add(int64, int64, T&, const V*, int64, int = 0, int = 1) const {}
  // The same for the columns of a packet, which starts at `column`.
  template <class T, int Width, class V>
  __device__ void add_packet(int64, int64, T (&)[Width], const Block<const V>&) const {}
};

}  // namespace diagsparse::cuda::matvec
