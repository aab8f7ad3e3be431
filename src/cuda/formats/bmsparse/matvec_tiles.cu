// Products with several columns of x, and with x whose elements are not contiguous: y = alpha op(A) x + beta y.
//
//   A: m x n in blocks of 8 x 8 (formats/bmsparse/layout.hpp).  x: n x k.  y: m x k.
//
// A warp computes a row of blocks for eight columns, on the FP64 matrix units (fragments.cuh). For more columns of real
// numbers it computes 16 or 32 of them, and reads A only once for these; there, columns of x are the rows of the left
// operand:
//
//     x^T, 16 x 4                A^T, 4 x 8              y^T, 16 x 8
//     x[j ... j + 3, c]          rows of a block of A    a lane holds two neighbouring columns of two rows
//
// Elements that are not stored count as zeros, so sums that are not finite are recomputed from the stored elements
// only. Rows with many more blocks than others are left to matvec.cu. Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "device/matrix_units.cuh"
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

constexpr int kWideBlock = 128;  // threads

// Two neighbouring elements.
template <class T>
using PairOf = std::conditional_t<sizeof(T) == 4, float2, double2>;

// Whether the columns of a block are neighbours, in aligned pairs.
template <class T>
bool in_pairs(const Dense& x) {
  return x.col_stride == 1 && x.cols % 2 == 0 && x.row_stride % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.data) % sizeof(PairOf<T>) == 0;
}

// 16 Wide columns per warp. pairs: those of x and y are in pairs.
template <int Wide, class U, class V>
__global__ void __launch_bounds__(kWideBlock)
    sum_wide_tiles(const OperandRows<U> a, int64 rows, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                   bool pairs, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  const int64 i = thread_index() / 32;
  if (i >= rows || a.indptr[i + 1] - a.indptr[i] > a.most) return;
  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  const Positions<U> positions(a.blocks, row, inner, 0, 4);
  const Bitmap half = a.blocks.transpose ? kTop : kLeft;
  const std::int64_t end = a.indptr[i + 1];
  for (int64 c = blockIdx.y * (16 * Wide) + 2 * row; c - 2 * row < cols; c += gridDim.y * (16 * Wide)) {
    const auto read = [&](int64 j, int n, double(&to)[2]) {
      const int64 column = c + 16 * n;
      to[0] = to[1] = 0;
      if (column >= cols || j >= a.cols) return;
      const V* const from = x.data + j * x.row + column * x.col;
      if (pairs) {
        const auto pair = __ldg(reinterpret_cast<const PairOf<V>*>(from));
        to[0] = pair.x, to[1] = pair.y;
      } else {
        to[0] = load(from);
        if (column + 1 < cols) to[1] = load(from + x.col);
      }
    };
    double sums[Wide][4] = {};
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
        double of_x[2][Wide][2];
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (!some[s]) continue;
          of_a[s] = positions.read(block, s);
#pragma unroll
          for (int n = 0; n < Wide; ++n) read(j + 4 * s, n, of_x[s][n]);
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (!some[s]) continue;
#pragma unroll
          for (int n = 0; n < Wide; ++n) {
            cuda::multiply_tile(sums[n], of_x[s][n][0], of_x[s][n][1], arithmetic(of_a[s]));
          }
        }
      }
    }
#pragma unroll
    for (int n = 0; n < Wide; ++n) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int64 column = c + 16 * n, of_block = 2 * inner + r;
        if (column >= cols || kTile * i + of_block >= a.rows) continue;
        T found[2];
#pragma unroll
        for (int v = 0; v < 2; ++v) {
          const double sum = sums[n][2 * v + r];
          found[v] = static_cast<T>(sum);
          if (!isfinite(sum) && column + v < cols) {
            found[v] = stored_sum(a, i, static_cast<int>(of_block), x.data + (column + v) * x.col, x.row);
          }
        }
        T* const to = y.data + (kTile * i + of_block) * y.row + column * y.col;
        if (pairs && update.plain) {
          __stcs(reinterpret_cast<PairOf<T>*>(to), PairOf<T>{found[0], found[1]});
        } else {
          update.one(to, found[0]);
          if (column + 1 < cols) update.one(to + y.col, found[1]);
        }
      }
    }
  }
}

template <class U, class V>
struct Tiles {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const BlockOperand of(*m.structure, op);
    if constexpr (!is_complex<U> && !is_complex<V>) {
      using T = Product<U, V>;
      // H200, 8000 rows of 27 full blocks, in a separate program: 16 columns with 8 per warp 69 us, with 16 52 us; 64
      // columns with 8, 16, 32 and 64 per warp 279, 162, 137 and 136 us.
      if (x.cols > kTile) {
        const auto run = [&](auto kernel, int columns) {
          dim3 grid(static_cast<unsigned>(ceil_div(of.rows, kWideBlock / 32)));
          grid.y = static_cast<unsigned>(std::min<int64>(ceil_div(x.cols, columns), 1024));
          launch("bmsparse columns", kernel, grid, dim3(kWideBlock), OperandRows<U>(m, of), of.rows, Block<const V>(x),
                 Block<T>(y), x.cols, in_pairs<V>(x) && in_pairs<T>(y), Update<T>(alpha, beta));
        };
        return x.cols > 16 ? run(sum_wide_tiles<2, U, V>, 32) : run(sum_wide_tiles<1, U, V>, 16);
      }
    }
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
