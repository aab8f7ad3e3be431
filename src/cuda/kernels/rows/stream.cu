// y = alpha op(A) x + beta y by rows, entries read in long runs: "stream".
//
//   op(A): m x n, by rows (rows.cuh).  x: n, or n x k.  y: m, or m x k.
//
// A block takes whole rows, as many as have about kSteps entries together, with an end of a row counted as an entry
// (shares.hpp). Its threads read the entries, neighbouring threads neighbouring ones, all that a thread has at once,
// and keep them for up to kColumns columns of x. For each of these they multiply and put the products into shared
// memory. There 1 to 8 threads add up each row, more of them the longer the rows are:
//
//     entries    e0 e1 e2 e3 e4 e5 e6 e7      read in order, whatever the lengths of rows
//     products   p0 p1 p2 p3 p4 p5 p6 p7      in shared memory
//     y          p0+p1  p2+p3+p4+p5+p6  p7    a row each
//
// A last row that is too long for that is summed by the whole block. Other kernels take over where the mean row is so
// long that a warp reads it in long runs itself ("warp_per_row"), and where one row is so long that no block should
// have it alone ("merge"). The order of a sum follows from the matrix: the same bits on every run.
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "kernels/row_kernels.hpp"
#include "kernels/rows/rows.cuh"
#include "kernels/rows/shares.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kThreads = 256, kEach = 4, kProducts = kThreads * kEach;
constexpr int kColumns = 16;                        // of a block of x
constexpr int kSteps = 640;                         // so that rows of up to kProducts - kSteps entries always fit
constexpr int64 kLongMean = 256, kLongest = 32768;  // beyond these, other kernels are faster

// Columns: of x, for which a block reads its entries once. For one, x and y have no gaps, and as many blocks as
// possible run at a time, with few registers each.
template <int Columns, class U, class V>
__global__ void __launch_bounds__(kThreads, Columns > 1 || sizeof(Product<U, V>) > 8 ? 4 : 8)
    stream_rows(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
                const __grid_constant__ Update<Product<U, V>> update, const std::int64_t* first) {
  using T = Product<U, V>;
  __shared__ T products[kProducts];
  __shared__ T of_warps[kThreads / 32];
  const int row = static_cast<int>(first[blockIdx.x]), all = static_cast<int>(first[blockIdx.x + 1]) - row;
  if (all == 0) return;
  const int64 entry = a.indptr[row], end = a.indptr[row + all];
  const bool alone = end - entry > kProducts;  // the last row
  const int rows = all - alone, entries = static_cast<int>((alone ? a.indptr[row + rows] : end) - entry);
  const int mean = entries / max(rows, 1), lanes = mean < 16 ? 1 : mean < 48 ? 2 : mean < 128 ? 4 : 8;
  const auto element = [&](std::int32_t j, int64 c) {
    return load(x.data + (Columns > 1 ? j * x.row + c * x.col : j));
  };
  const auto write = [&](int i, int64 c, T sum) {
    update.one(y.data + (Columns > 1 ? (row + i) * y.row + c * y.col : row + i), sum);
  };

  U values[kEach];
  std::int32_t columns[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int e = threadIdx.x + k * kThreads;
    if (e < entries) values[k] = a.value_once(entry + e), columns[k] = load_once(a.indices + entry + e);
  }
  const int64 begin_col = blockIdx.y * Columns, end_col = Columns > 1 ? min(cols, begin_col + Columns) : 1;
  for (int64 c = begin_col; c < end_col; ++c) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int e = threadIdx.x + k * kThreads;
      if (e < entries) products[e] = multiply(conjugate_if(conj, values[k]), element(columns[k], c));
    }
    __syncthreads();

    for (int base = 0; base < rows; base += kThreads / lanes) {  // all lanes of a warp go on together
      const int i = base + threadIdx.x / lanes, lane = threadIdx.x % lanes;
      T sum{};
      if (i < rows) {
        const int stop = static_cast<int>(a.indptr[row + i + 1] - entry);
        for (int e = static_cast<int>(a.indptr[row + i] - entry) + lane; e < stop; e += lanes) sum += products[e];
      }
      sum = sum_of_lanes(sum, lanes);
      if (i < rows && lane == 0) write(i, c, sum);
    }

    if (alone) {
      T sum{};
      for (int64 e = entry + entries + threadIdx.x; e < end; e += kThreads) {
        sum += multiply(conjugate_if(conj, a.value_once(e)), element(a.indices[e], c));
      }
      sum = sum_of_lanes<32>(sum);
      if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int w = 1; w < kThreads / 32; ++w) sum += of_warps[w];
        write(rows, c, sum);
      }
    }
    if (Columns > 1) __syncthreads();
  }
}

const MatvecRow* taking_over(const Matrix& a, Op op, int64 longest) {
  static const MatvecRow by_warp = gather_by_warp(), by_merge = gather_by_merge();
  const int64 rows = op.transposed ? a.cols : a.rows;
  return a.values.size() > kLongMean * rows ? &by_warp : longest > kLongest ? &by_merge : nullptr;
}

template <class U, class V>
struct Stream {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentShares> shares = shares_of(a, op, kSteps, Cut::rows);
    if (const MatvecRow* other = taking_over(a, op, shares->longest)) {
      return other->typed(dtype_of<U>(), dtype_of<V>())(a, op, alpha, x, beta, y);
    }
    const Rows<U> rows = Rows<U>::of(a, op);
    const Update<T> update(alpha, beta);
    const auto* first = shares->first.as<const std::int64_t>();
    const auto count = static_cast<unsigned>(shares->count);
    if (x.cols == 1 && x.row_stride == 1 && y.row_stride == 1) {
      return launch("matvec", stream_rows<1, U, V>, dim3(count), dim3(kThreads), rows, op.conjugated, Block<const V>(x),
                    Block<T>(y), x.cols, update, first);
    }
    constexpr int64 most = 65535 * kColumns;  // columns of x that a grid takes
    for (int64 c = 0; c < x.cols; c += most) {
      const int64 cols = std::min(x.cols - c, most);
      Block<const V> from(x);
      Block<T> to(y);
      from.data += c * from.col, to.data += c * to.col;
      launch("matvec", stream_rows<kColumns, U, V>, dim3(count, static_cast<unsigned>(ceil_div(cols, kColumns))),
             dim3(kThreads), rows, op.conjugated, from, to, cols, update, first);
    }
  }
};

void prepare(const Matrix& a, Op op) {
  const MatvecRow* const other = taking_over(a, op, shares_of(a, op, kSteps, Cut::rows)->longest);
  if (other) other->prepare(a, op);
}

}  // namespace

MatvecRow gather_by_stream() { return {"stream", every_pair<Stream, MatvecKernel>(), prepare}; }

}  // namespace diagsparse::cuda::rows
