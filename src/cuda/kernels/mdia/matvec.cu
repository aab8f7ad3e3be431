// Kernel "block": y = alpha op(A) x + beta y.
//
//   A: m x n hollow diagonals (formats/mdia.hpp).  x: n, or n x k.  y: m, or m x k.
//
// A warp takes a block of 32 rows, a lane a row. In A as it lies the lanes read the masks of 32 diagonals at a time,
// count their bits to know where the values of each begin, and take the diagonals that are not empty, four together: so
// values are read side by side, and so are the elements of x. Of a transpose, and of a half that is not stored, a lane
// looks for the element of its row on each diagonal; where those of a block begin is kept with A, 4 bytes a mask.
// Blocks x take A once for four columns (once for each of a transpose). The same bits on every run.
// Bytes at least: A, x and y.
#include "device/dense.cuh"
#include "kernels/mdia/hollow.cuh"

namespace diagsparse::cuda::hollow {

namespace {

constexpr int kTogether = 4;  // diagonals whose values are asked for at once, and columns of x

template <int Columns, class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_blocks(const Mdia<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
               const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  const int64 block = thread_index() / 32;
  if (block >= a.blocks()) return;
  const int lane = threadIdx.x % 32;
  const int64 row = kMaskRows * block + lane;
  const Mask lower = below(lane);
  for (int64 c = static_cast<int64>(blockIdx.y) * Columns; c < cols; c += static_cast<int64>(gridDim.y) * Columns) {
    const int width = static_cast<int>(cols - c < Columns ? cols - c : Columns);
    T sum[Columns] = {};
    const U* values = a.values + a.begin[block];
    for (int64 base = 0; base < a.diagonals; base += 32) {
      const int64 d = base + lane;
      const Mask mine = d < a.diagonals ? a.mask[block * a.diagonals + d] : 0;
      const std::int64_t offset = d < a.diagonals ? a.offsets[d] : 0;
      int end = __popc(mine);  // with those of the lanes before
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(~0u, end, step);
        if (lane >= step) end += other;
      }
      const int begin = end - __popc(mine);
      for (unsigned some = __ballot_sync(~0u, mine != 0); some != 0;) {
        U value[kTogether];
        V factor[kTogether][Columns];
        bool has[kTogether];
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          const int from = some == 0 ? 0 : __ffs(static_cast<int>(some)) - 1;
          const Mask rows = some == 0 ? 0 : __shfl_sync(~0u, mine, from);
          const int first = __shfl_sync(~0u, begin, from);
          const std::int64_t across = __shfl_sync(~0u, offset, from);
          has[k] = rows >> lane & 1;
          if (has[k]) {
            value[k] = load_once(values + first + __popc(rows & lower));
            const V* const in = x.data + (row + across) * x.row + c * x.col;
#pragma unroll
            for (int j = 0; j < Columns; ++j) {
              if (j < width) factor[k][j] = load(in + j * x.col);
            }
          }
          some &= some - 1;
        }
#pragma unroll
        for (int k = 0; k < kTogether; ++k) {
          if (!has[k]) continue;
#pragma unroll
          for (int j = 0; j < Columns; ++j) {
            if (j < width) sum[j] += multiply(conjugate_if(conj, arithmetic(value[k])), factor[k][j]);
          }
        }
      }
      values += __shfl_sync(~0u, end, 31);
    }
    if (row < a.rows) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        if (j < width) update.one(y.data + row * y.row + (c + j) * y.col, sum[j]);
      }
    }
  }
}

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    sum_found(const HollowOperand<U> a, const HollowDiagonal* diagonals, int count, int64 rows, const Block<const V> x,
              const Block<Product<U, V>> y, int64 cols, const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  const int64 row = thread_index();
  if (row >= rows) return;
  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    T sum{};
#pragma unroll 4
    for (int d = 0; d < count; ++d) {
      const HollowDiagonal diagonal = diagonals[d];
      const int64 place = a.place(diagonal, row);
      if (place < 0) continue;
      const auto value = conjugate_if(diagonal.conjugated, arithmetic(load(a.a.values + place)));
      sum += multiply(value, load(x.data + (row + diagonal.offset) * x.row + c * x.col));
    }
    update.one(y.data + row * y.row + c * y.col, sum);
  }
}

template <class U, class V>
struct BlocksOfRows {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Block<const V> in(x);
    const Block<T> out(y);
    const Update<T> update(alpha, beta);
    if (!in_order(*m.structure, op)) {
      const auto diagonals = resident_diagonals(*m.structure, op);
      return launch("mdia found", sum_found<U, V>, blocks_by_columns(y.rows, x.cols), dim3(kBlock), operand<U>(m),
                    diagonals->begin(), diagonals->count, y.rows, in, out, x.cols, update);
    }
    const int64 threads = 32 * masks_along(m.rows);
    if (x.cols == 1) {
      launch("mdia blocks", sum_blocks<1, U, V>, blocks_by_columns(threads, 1), dim3(kBlock), Mdia<U>::of(m),
             op.conjugated, in, out, x.cols, update);
    } else {
      launch("mdia blocks", sum_blocks<kTogether, U, V>, blocks_by_columns(threads, ceil_div(x.cols, kTogether)),
             dim3(kBlock), Mdia<U>::of(m), op.conjugated, in, out, x.cols, update);
    }
  }
};

void prepare(const Matrix& m, Op op) {
  if (in_order(*m.structure, op)) return;
  hollow_places(*m.structure);
  resident_diagonals(*m.structure, op);
}

}  // namespace

MatvecRow by_blocks() { return {"block", every_stored_pair<BlocksOfRows, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::hollow
