// Products with several columns of x, and with x whose elements are not contiguous: y = alpha op(A) x + beta y.
//
//   A: m x n in blocks of 8 x 8 (formats/bmsparse/layout.hpp).  x: n x k.  y: m x k.
//
// A warp computes a row of blocks for eight columns, on the FP64 matrix units (fragments.cuh). Elements that are not
// stored count as zeros there, so sums that are not finite are recomputed from the stored elements only. Rows with many
// more blocks than others are left to matvec.cu. Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "formats/bmsparse/kernels.hpp"
#include "formats/bmsparse/operand_rows.cuh"
#include "formats/bmsparse/warp_sums.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

// Element (r, c) of the tile of y from the stored elements only.
template <class U, class V>
__device__ __noinline__ Product<U, V> stored_sum(const OperandRows<U>& a, int64 i, int r, const V* x, int64 x_step) {
  Wide<Product<U, V>> sum{};
  for (std::int64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
    const BlockView<U> block = a.view(e);
    for (int k = 0; k < kLanes; ++k) {
      if (!a.blocks.has(block, r, k)) continue;
      const auto value = arithmetic(a.blocks.value(block, r, k));
      const V other = load(x + (kTile * a.col[e] + k) * x_step);
      sum += multiply(convert<Wide<std::decay_t<decltype(value)>>>(value), convert<Wide<V>>(other));
    }
  }
  return convert<Product<U, V>>(sum);
}

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_tiles(const OperandRows<U> a, int64 rows, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
              const __grid_constant__ Update<Product<U, V>> update) {
  const int64 i = thread_index() / 32;
  if (i >= rows || a.indptr[i + 1] - a.indptr[i] > a.most) return;
  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  const Positions<U> positions(a.blocks, row, inner, 0, 4);
  const Bitmap half = a.blocks.transpose ? kTop : kLeft;
  const std::int64_t end = a.indptr[i + 1];
  for (int64 c = blockIdx.y * kTile; c < cols; c += gridDim.y * kTile) {
    const bool inside = c + row < cols;  // whether this lane's column of x exists
    const V* const in = x.data + (c + row) * x.col;
    Sums<Product<U, V>> sums;
    for (std::int64_t first = a.indptr[i]; first < end; first += 32) {
      BlockView<U> view{};
      std::int32_t col = 0;
      if (first + lane < end) view = a.view(first + lane), col = a.col[first + lane];
      const int here = static_cast<int>(min(static_cast<std::int64_t>(32), end - first));
#pragma unroll 2
      for (int e = 0; e < here; ++e) {
        const BlockView<U> block = from_lane(view, e);
        const int64 j = kTile * __shfl_sync(kAllLanes, col, e) + inner;
        const bool some[2] = {(block.bitmap & half) != 0, (block.bitmap & ~half) != 0};
        U of_a[2];
        V of_x[2];
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (!some[s]) continue;
          of_a[s] = positions.read(block, s);
          of_x[s] = inside && j + 4 * s < a.cols ? load(in + (j + 4 * s) * x.row) : V{};
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (some[s]) sums.add(arithmetic(of_a[s]), of_x[s]);
        }
      }
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      const int64 column = c + 2 * inner + v;
      if (column >= cols || kTile * i + row >= a.rows) continue;
      Product<U, V> sum = sums.value(v);
      if (!sums.finite(v)) sum = stored_sum(a, i, row, x.data + column * x.col, x.row);
      update.one(y.data + (kTile * i + row) * y.row + column * y.col, sum);
    }
  }
}

template <class U, class V>
struct Tiles {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const BlockOperand of(*m.structure, op);
    dim3 grid = blocks(32 * of.rows);
    grid.y = static_cast<unsigned>(std::min<int64>(ceil_div(x.cols, kTile), 1024));
    launch("bmsparse columns", sum_tiles<U, V>, grid, dim3(kBlock), OperandRows<U>(m, of), of.rows, Block<const V>(x),
           Block<Product<U, V>>(y), x.cols, Update<Product<U, V>>(alpha, beta));
  }
};

}  // namespace

const Typed<MatvecKernel>& by_tiles() {
  static const Typed<MatvecKernel> typed = every_stored_pair<Tiles, MatvecKernel>();
  return typed;
}

}  // namespace diagsparse::cuda::bmsparse
