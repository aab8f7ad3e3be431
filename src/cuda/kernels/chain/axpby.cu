// Sums of vectors on the GPU: y = alpha x + beta y, and what remains of a step of a chain after the product with the
// matrix.
//
//   x, y: m, or m x k, of any strides; in chains, with contiguous columns. A thread processes one element; neighbouring
//   threads process neighbouring rows. Every run gives the same bits.
#include "core/elementwise.hpp"
#include "core/recurrence.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"

namespace diagsparse {

namespace cuda {

namespace {

// A thread processes one row of every gridDim.y-th column.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_elements(const Block<T> x, const Block<T> y, int64 rows, int64 cols, const __grid_constant__ Update<T> update) {
  const int64 i = thread_index();
  if (i >= rows) return;
  for (int64 column = blockIdx.y; column < cols; column += gridDim.y) {
    update.one(y.data + i * y.row + column * y.col, load(x.data + i * x.row + column * x.col));
  }
}

// A thread processes one row of every gridDim.y-th column.
template <class T>
__global__ void __launch_bounds__(kBlock)
    finish_elements(const Block<const T> v, const Block<T> next, const Block<T> y, int64 rows, int64 cols,
                    const __grid_constant__ RestOfStep<T> rest) {
  const int64 i = thread_index();
  if (i >= rows) return;
  for (int64 k = blockIdx.y; k < cols; k += gridDim.y) {
    rest.one(v.data + i + k * v.col, next.data + i + k * next.col, y.data + i + k * y.col);
  }
}

dim3 grid_over(const Dense& y) {
  return {cuda::blocks(y.rows).x, static_cast<unsigned>(std::min<int64>(y.cols, 65535))};
}

}  // namespace

}  // namespace cuda

void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  with_value_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    if (alpha == 0.0) return cuda::scale<T>(y, beta);
    cuda::launch("axpby", cuda::add_elements<T>, cuda::grid_over(y), dim3(cuda::kBlock), cuda::Block<T>(x),
                 cuda::Block<T>(y), y.rows, y.cols, Update<T>(alpha, beta));
  });
}

void finish_step(Scalar beta, const Dense& v, const Dense& next, Scalar c, const Dense& y) {
  with_value_type(next.dtype, [&](auto type) {
    using T = decltype(type);
    cuda::launch("finish step", cuda::finish_elements<T>, cuda::grid_over(next), dim3(cuda::kBlock),
                 cuda::Block<const T>(v), cuda::Block<T>(next), cuda::Block<T>(y), next.rows, next.cols,
                 RestOfStep<T>(beta, c));
  });
}

Array weighted_sum(Scalar alpha, const Array& a, Scalar beta, const Array& b) {
  Array result = Array::empty(a.dtype, a.shape);
  axpby(alpha, flat(a), 0.0, flat(result));
  axpby(beta, flat(b), 1.0, flat(result));
  return result;
}

}  // namespace diagsparse
