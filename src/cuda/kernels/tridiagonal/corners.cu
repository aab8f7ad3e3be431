// The correction of tridiagonal solutions for two corner elements: a matrix of rank 2 times their ends.
//
//   x: n x k, y: n x 2. One kernel copies the ends of x, because the other one overwrites them. Its threads process a
//   row of every gridDim.y-th column, and read y and x in order. Every run gives the same bits.
#include "core/arithmetic.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"
#include "kernels/tridiagonal/corners.hpp"

namespace diagsparse::cuda::tridiagonal {

namespace {

template <class T>
__global__ void __launch_bounds__(kBlock) copy_ends(const T* x, int64 rows, int64 cols, int64 stride, T* ends) {
  const int64 column = thread_index();
  if (column >= cols) return;
  ends[2 * column] = x[column * stride];
  ends[2 * column + 1] = x[column * stride + rows - 1];
}

template <class T>
struct TwoByTwo {
  T element[4];
};

template <class T>
__global__ void __launch_bounds__(kBlock) subtract_ends(const T* y, int64 y_stride, const TwoByTwo<T> m, const T* ends,
                                                        T* x, int64 rows, int64 cols, int64 stride) {
  const int64 i = thread_index();
  if (i >= rows) return;
  const T first = load(y + i), second = load(y + y_stride + i);
  const T by_first = first * m.element[0] + second * m.element[2];
  const T by_last = first * m.element[1] + second * m.element[3];
  for (int64 column = blockIdx.y; column < cols; column += gridDim.y) {
    T* at = x + column * stride + i;
    const T change = by_first * load(ends + 2 * column) + by_last * load(ends + 2 * column + 1);
    *at = *at + convert<T>(-1) * change;
  }
}

}  // namespace

void correct_for_corners(const Dense& y, const std::array<Scalar, 4>& m, const Dense& x) {
  if (x.rows == 0 || x.cols == 0) return;
  with_value_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    TwoByTwo<T> factors;
    for (int k = 0; k < 4; ++k) factors.element[k] = from_scalar<T>(m[k]);
    const Scratch<T> ends(2 * x.cols);
    launch("tridiagonal_copy_ends", copy_ends<T>, blocks(x.cols), dim3(kBlock), x.as<const T>(), x.rows, x.cols,
           x.col_stride, ends.get());
    launch("tridiagonal_subtract_ends", subtract_ends<T>, blocks_by_columns(x.rows, x.cols), dim3(kBlock),
           y.as<const T>(), y.col_stride, factors, static_cast<const T*>(ends.get()), x.as<T>(), x.rows, x.cols,
           x.col_stride);
  });
}

}  // namespace diagsparse::cuda::tridiagonal
