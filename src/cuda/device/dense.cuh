// Dense vectors and blocks, in the form in which kernels over rows access them.
#pragma once

#include "device/launch.cuh"

namespace diagsparse::cuda {

// Element (i, column c) is at data[i * row + c * col].
template <class T>
struct Block {
  T* data;
  int64 row, col;

  explicit Block(const Dense& d) : data(d.as<std::remove_const_t<T>>()), row(d.row_stride), col(d.col_stride) {}
};

// A grid with `threads` threads along x, and along y an element for each of the columns, up to a limit.
inline dim3 blocks_by_columns(int64 threads, int64 cols) {
  dim3 grid = blocks(threads);
  grid.y = static_cast<unsigned>(std::min<int64>(cols, 1024));
  return grid;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    scale_elements(const Block<T> y, int64 rows, int64 cols, const __grid_constant__ Update<T> update) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 e = thread_index(); e < rows * cols; e += width) {
    update.one(y.data + e % rows * y.row + e / rows * y.col, T{});
  }
}

// y = beta y; for beta = 0, y is not read.
template <class T>
void scale(const Dense& y, Scalar beta) {
  launch("scale", scale_elements<T>, blocks(y.rows * y.cols), dim3(kBlock), Block<T>(y), y.rows, y.cols,
         Update<T>(0.0, beta));
}

}  // namespace diagsparse::cuda
