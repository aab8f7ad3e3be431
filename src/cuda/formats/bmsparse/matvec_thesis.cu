// Kernels "base" and "batch" of the thesis: y = alpha op(A) x + beta y.
//
//   A: m x n in blocks of 8 x 8 (formats/bmsparse/layout.hpp).  x: n, or n x k.  y: m, or m x k.
//
//   "base"   64 threads process a row of blocks, one block after another: a thread handles one element of each
//   "batch"  256 threads process a row of blocks, four blocks at once: a warp handles one row of these
//
// The kernels exist for comparison. The threads of a row of A add their sums by shuffles at the end, so every run gives
// the same bits. Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "formats/bmsparse/kernels.hpp"
#include "formats/bmsparse/operand_rows.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

template <int Blocks, class U, class V>
__global__ void __launch_bounds__(64 * Blocks)
    sum_blocks(const OperandRows<U> a, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
               const __grid_constant__ Update<Product<U, V>> update) {
  constexpr int lanes = kLanes * Blocks;  // threads per row of A
  const int r = threadIdx.x / lanes, lane = threadIdx.x % lanes, k = lane % kLanes;
  const int64 i = blockIdx.x, row = kTile * i + r;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    Product<U, V> sum{};
    for (std::int64_t e = a.indptr[i] + lane / kLanes; e < a.indptr[i + 1]; e += Blocks) {
      const BlockView<U> block = a.view(e);
      if (!a.blocks.has(block, r, k)) continue;
      const V other = load(x.data + (kTile * a.col[e] + k) * x.row + c * x.col);
      sum += multiply(arithmetic(a.blocks.value(block, r, k)), other);
    }
    __syncwarp();
    sum = sum_of_lanes<lanes>(sum);
    if (lane == 0 && row < a.rows) update.one(y.data + row * y.row + c * y.col, sum);
  }
}

template <int Blocks>
struct BlocksAtOnce {
  template <class U, class V>
  struct Rows {
    static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
      const BlockOperand of(*m.structure, op);
      const dim3 grid(static_cast<unsigned>(of.rows), static_cast<unsigned>(std::min<int64>(x.cols, 1024)));
      launch("bmsparse matvec", sum_blocks<Blocks, U, V>, grid, dim3(64 * Blocks), OperandRows<U>(m, of),
             Block<const V>(x), Block<Product<U, V>>(y), x.cols, Update<Product<U, V>>(alpha, beta));
    }
  };
};

// For operands of one type; for two, it is "row".
template <template <class, class> class Kernel>
MatvecRow row_of_thesis(const char* name) {
  MatvecRow row = by_rows();
  row.name = name;
  fill_cell<Kernel, float, float>(row.typed);
  fill_cell<Kernel, double, double>(row.typed);
  fill_cell<Kernel, Complex<float>, Complex<float>>(row.typed);
  fill_cell<Kernel, Complex<double>, Complex<double>>(row.typed);
  return row;
}

}  // namespace

MatvecRow by_base() { return row_of_thesis<BlocksAtOnce<1>::Rows>("base"); }
MatvecRow by_batch() { return row_of_thesis<BlocksAtOnce<4>::Rows>("batch"); }

}  // namespace diagsparse::cuda::bmsparse
