// Residuals of solutions with bands: for verification, and for a step of iterative refinement.
//
// A thread processes a row, and reads the diagonals in order.
#pragma once

#include "kernels/banded/band.cuh"
#include "kernels/tridiagonal/residual.cuh"

namespace diagsparse::cuda::banded {

// r = b - A x for each column.
template <class T>
__global__ void __launch_bounds__(kBlock)
    subtract_product(const __grid_constant__ Band<T> band, const T* b, int64 b_stride, const T* x, int64 x_stride,
                     int64 columns, T* r) {
  __shared__ int64 table[kMostDiagonals];
  const BandView<T> a(band, table);
  const int64 row = thread_index();
  if (row >= a.n) return;
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    T sum = load(b + column * b_stride + row);
    for (int k = -a.below; k <= a.above; ++k) {
      if (row + k >= 0 && row + k < a.n)
        sum = less_product(sum, a.inside(row, k), load(x + column * x_stride + row + k));
    }
    r[column * a.n + row] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    find_largest(const __grid_constant__ Band<T> band, const T* b, const T* x, tridiagonal::Largest* most) {
  __shared__ int64 table[kMostDiagonals];
  const BandView<T> a(band, table);
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  tridiagonal::Largest own{};
  for (int64 row = thread_index(); row < a.n; row += width) {
    T rest = load(b + row);
    double row_sum = 0;
    for (int k = -a.below; k <= a.above; ++k) {
      if (row + k < 0 || row + k >= a.n) continue;
      const T value = a.inside(row, k);
      rest = less_product(rest, value, load(x + row + k));
      row_sum += magnitude(value);
    }
    own.join({magnitude(rest), magnitude(load(x + row)), magnitude(load(b + row)), row_sum});
  }
  own.join_lanes();
  if (threadIdx.x % 32 == 0) own.join_atomically(most);
}

}  // namespace diagsparse::cuda::banded
