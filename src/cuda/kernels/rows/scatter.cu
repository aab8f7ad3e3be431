// Kernel "entry" of csc and coo: y = beta y, then y += alpha op(A) x, entry by entry.
//
//   op(A): m x n, `count` entries as they are stored; coordinates: the row and column of each (csc: a bisection over
//   the pointers).  x: n, or n x k.  y: m, or m x k.
//
// A thread processes an entry and adds its product to y atomically, for every gridDim.y-th column. Neighbouring threads
// read neighbouring entries, and the corresponding elements of x and y. The kernel needs no index of the rows, which
// the other kernels sort in their first call. Sums may differ in their last bits from run to run.
#include "device/dense.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    scatter(const Coordinates coordinates, const U* values, int64 count, bool conj, const Block<const V> x,
            const Block<Product<U, V>> y, int64 cols, const __grid_constant__ Factor<Product<U, V>> alpha) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 e = thread_index(); e < count; e += width) {
    const U value = conjugate_if(conj, load(values + e));
    const int64 to = coordinates.row_of(e), from = coordinates.col_of(e);
    for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
      atomic_add(y.data + to * y.row + c * y.col, alpha * multiply(value, load(x.data + from * x.row + c * x.col)));
    }
  }
}

template <class U, class V>
struct Scatter {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    scale<T>(y, beta);
    const int64 count = a.values.size();
    const dim3 grid(blocks(count).x, static_cast<unsigned>(std::min<int64>(x.cols, 1024)));
    launch("matvec entry", scatter<U, V>, grid, dim3(kBlock), Coordinates::of(a, op), a.values.as<U>(), count,
           op.conjugated, Block<const V>(x), Block<T>(y), x.cols, Factor<T>(alpha));
  }
};

}  // namespace

MatvecRow scatter_entries() { return {"entry", every_pair<Scatter, MatvecKernel>()}; }

}  // namespace diagsparse::cuda::rows
