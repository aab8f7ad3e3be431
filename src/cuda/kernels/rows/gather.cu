// y = alpha op(A) x + beta y by rows: "threads_per_row", "row", "warp_per_row" and "sequential" of csr, csc and coo.
//
//   op(A): m x n, by rows (rows.cuh).  x: n, or n x k.  y: m, or m x k.
//
// Lanes threads (1 to 32) process a row, every Lanes-th entry each, and add their partial sums by shuffles. A row of
// blocks processes every gridDim.y-th column of x. The lanes of a row read neighbouring entries, and the corresponding
// elements of x through the caches. With one thread per row, neighbouring threads read distant entries; with a warp per
// row, most threads are idle on short rows. Therefore "threads_per_row" chooses the number of threads by the mean
// length of the rows. "sequential", the slow reference, is one thread for all rows. The order of a sum is fixed, so
// every run gives the same bits.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "kernels/rows/kernels.hpp"
#include "kernels/rows/rows.cuh"

namespace diagsparse::cuda::rows {

namespace {

template <int Lanes, class U, class V>
__global__ void __launch_bounds__(kBlock)
    gather(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
           const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  constexpr int rows = 32 / Lanes;  // rows that a warp processes at a time: all its lanes advance together, as the
                                    // shuffles require
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x / Lanes;
  const int lane = threadIdx.x % Lanes;
  for (int64 first = thread_index() / 32 * rows; first < a.count; first += width) {
    const int64 i = first + threadIdx.x % 32 / Lanes;
    const int64 begin = i < a.count ? a.indptr[i] : 0, end = i < a.count ? a.indptr[i + 1] : 0;
    for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
      T sum{};
      for (int64 e = begin + lane; e < end; e += Lanes) {
        sum += multiply(conjugate_if(conj, a.value(e)), load(x.data + a.indices[e] * x.row + c * x.col));
      }
      if constexpr (Lanes > 1) {
        __syncwarp();
        sum = sum_of_lanes<Lanes>(sum);
      }
      if (lane == 0 && i < a.count) update.one(y.data + i * y.row + c * y.col, sum);
    }
  }
}

template <int Lanes, class U, class V>
void run_rows(dim3 grid, dim3 block, const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta,
              const Dense& y) {
  launch("matvec", gather<Lanes, U, V>, grid, block, Rows<U>::of(a, op), op.conjugated, Block<const V>(x),
         Block<Product<U, V>>(y), x.cols, Update<Product<U, V>>(alpha, beta));
}

template <int Lanes, class U, class V>
struct Gather {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    run_rows<Lanes, U, V>(blocks_by_columns(y.rows * Lanes, x.cols), dim3(kBlock), a, op, alpha, x, beta, y);
  }
};
template <class U, class V>
struct Row : Gather<1, U, V> {};
template <class U, class V>
struct Warp : Gather<32, U, V> {};
template <class U, class V>
struct Threads {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 mean = a.values.size() / std::max<int64>(y.rows, 1);
    const auto rows = mean <= 3    ? Gather<2, U, V>::run
                      : mean <= 8  ? Gather<4, U, V>::run
                      : mean <= 24 ? Gather<8, U, V>::run
                      : mean <= 64 ? Gather<16, U, V>::run
                                   : Gather<32, U, V>::run;
    rows(a, op, alpha, x, beta, y);
  }
};
template <class U, class V>
struct Sequential {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    run_rows<1, U, V>(dim3(1), dim3(1), a, op, alpha, x, beta, y);
  }
};

void prepare_rows(const Matrix& a, Op op) { rows_of(a, op.transposed); }

}  // namespace

MatvecRow gather_by_threads() { return {"threads_per_row", every_pair<Threads, MatvecKernel>(), prepare_rows}; }
MatvecRow gather_by_row() { return {"row", every_pair<Row, MatvecKernel>(), prepare_rows}; }
MatvecRow gather_by_warp() { return {"warp_per_row", every_pair<Warp, MatvecKernel>(), prepare_rows}; }
MatvecRow gather_by_one() { return {"sequential", every_pair<Sequential, MatvecKernel>(), prepare_rows}; }

}  // namespace diagsparse::cuda::rows
