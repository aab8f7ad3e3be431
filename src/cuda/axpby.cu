// y = alpha x + beta y on the GPU: what is left of a step of a chain when the matrix has been multiplied.
#include "core/recurrence.hpp"
#include "dense.cuh"
#include "memory.cuh"

namespace diagsparse {

namespace cuda {

namespace {

// A thread takes an element, neighbours of a column on neighbouring threads.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_elements(const Block<T> x, const Block<T> y, int64 rows, int64 cols, const __grid_constant__ Update<T> update) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 e = thread_index(); e < rows * cols; e += width) {
    const int64 i = e % rows, column = e / rows;
    update.one(y.data + i * y.row + column * y.col, load(x.data + i * x.row + column * x.col));
  }
}

}  // namespace

}  // namespace cuda

void axpby(Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
  with_value_type(y.dtype, [&](auto type) {
    using T = decltype(type);
    if (alpha == 0.0) return cuda::scale<T>(y, beta);
    cuda::launch("axpby", cuda::add_elements<T>, cuda::blocks(y.rows * y.cols), dim3(cuda::kBlock), cuda::Block<T>(x),
                 cuda::Block<T>(y), y.rows, y.cols, Update<T>(alpha, beta));
  });
}

}  // namespace diagsparse
