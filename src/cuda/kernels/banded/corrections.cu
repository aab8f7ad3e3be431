// Corrections of solutions by matrices of small rank.
//
//   multiply_selected   a warp computes an element; the lanes read a row of M in order, and x at the positions
//   subtract_combined   a thread processes a row of every gridDim.y-th column, and reads Y in order
//
// Every run gives the same bits.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "device/values.cuh"
#include "kernels/banded/corrections.hpp"
#include "kernels/tridiagonal/arithmetic.cuh"

namespace diagsparse::cuda::banded {

namespace {

using tridiagonal::less_product;
using tridiagonal::minus;

template <class T>
__global__ void __launch_bounds__(kBlock)
    multiply_selected_rows(const T* m, int64 rank, const int64* positions, int64 count, const T* x, int64 x_stride,
                           T* result, int64 stride, int64 columns) {
  const int64 row = thread_index() / 32;
  if (row >= rank) return;
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    T sum{};
    for (int64 k = threadIdx.x % 32; k < count; k += 32) {
      sum = less_product(sum, minus(load(m + row * count + k)), load(x + column * x_stride + load(positions + k)));
    }
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) result[column * stride + row] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    subtract_columns(const T* y, int64 y_stride, int64 rank, const T* w, int64 w_stride, T* x, int64 x_stride, int64 n,
                     int64 columns) {
  const int64 row = thread_index();
  if (row >= n) return;
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    T value = x[column * x_stride + row];
    for (int64 k = 0; k < rank; ++k) {
      value = less_product(value, load(y + k * y_stride + row), load(w + column * w_stride + k));
    }
    x[column * x_stride + row] = value;
  }
}

}  // namespace

void multiply_selected(const Array& m, const Array& positions, const Dense& x, const Dense& result) {
  with_value_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("banded_multiply_selected", multiply_selected_rows<T>, blocks_by_columns(32 * result.rows, x.cols),
           dim3(kBlock), m.as<const T>(), result.rows, positions.as<const int64>(), positions.size(), x.as<const T>(),
           x.col_stride, result.as<T>(), result.col_stride, x.cols);
  });
}

void subtract_combined(const Dense& y, const Dense& w, const Dense& x) {
  with_value_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("banded_subtract_combined", subtract_columns<T>, blocks_by_columns(x.rows, x.cols), dim3(kBlock),
           y.as<const T>(), y.col_stride, y.cols, w.as<const T>(), w.col_stride, x.as<T>(), x.col_stride, x.rows,
           x.cols);
  });
}

}  // namespace diagsparse::cuda::banded
