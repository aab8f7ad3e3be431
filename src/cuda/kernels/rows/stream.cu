// y = alpha op(A) x + beta y by rows, with coalesced reads of the entries: "stream", the default of csr, csc and coo.
//
//   op(A): m x n, by rows (rows.cuh).  x: n, or n x k.  y: m, or m x k.
//
// A block processes complete rows that have up to kProducts entries together (chunks.hpp). Neighbouring threads read
// neighbouring entries, and each thread loads all of its entries at once (stream_chunk.cuh).
//
// For a vector, the threads multiply the entries and store the products in shared memory. Then 1 to 8 threads sum each
// row, depending on the mean length of the rows, and a warp sums each row that is much longer than the others of its
// chunk:
//
//     entries    e0 e1 e2 e3 e4 e5 e6 e7      read in order, whatever the lengths of rows
//     products   p0 p1 p2 p3 p4 p5 p6 p7      in shared memory
//     y          p0+p1  p2+p3+p4+p5+p6  p7    a row each
//
// For a block of columns, the entries themselves are stored in shared memory, and used for up to kColumns columns
// (stream_block.cuh).
//
// A last row that does not fit into shared memory is summed by the complete block. Other kernels are called if the mean
// row is so long that a warp reads it efficiently by itself ("warp_per_row", for vectors), and if one row is too long
// for a single block ("merge"). The order of a sum depends only on the matrix, the number of columns, and whether rows
// or columns of x are contiguous, so every run gives the same bits.
#include <cstdint>
#include <cstdlib>

#include "device/c_order.hpp"
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "kernels/rows/chunks.hpp"
#include "kernels/rows/kernels.hpp"
#include "kernels/rows/rows.cuh"
#include "kernels/rows/stream_block.cuh"
#include "kernels/rows/stream_chunk.cuh"

namespace diagsparse::cuda::rows {

namespace streams {

namespace {

constexpr int kColumns = 32;                        // most columns of x per block
constexpr int64 kBlocks = 1024;                     // blocks that fill a GPU
constexpr int64 kLongMean = 256, kLongest = 32768;  // above these limits, other kernels are faster

// Contiguous: the entries are in order, and so are the elements of x and y; with fewer numbers in registers, more loads
// are in flight (heis_18, 9.5 entries per row, on an H100: 14.9 and 16.6 us). long_rows: there are rows of more than
// kLongFactor entries.
template <bool Contiguous, class U, class V>
__global__ void __launch_bounds__(kThreads, sizeof(Product<U, V>) > 8 ? 4 : 8)
    stream_vector(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y,
                  const __grid_constant__ Update<Product<U, V>> update, const ChunkStart* first, bool long_rows) {
  using T = Product<U, V>;
  __shared__ T products[kProducts];
  __shared__ T of_warps[kWarps];
  __shared__ int list[kListed], listed;
  const Chunk chunk(a.indptr, first);
  const int mean = chunk.mean(), lanes = mean < 16 ? 1 : mean < 48 ? 2 : mean < 128 ? 4 : 8;
  const int lane = threadIdx.x % lanes, warp = threadIdx.x / 32, of_warp = threadIdx.x % 32;
  const auto write = [&](int i, T sum) { update.one(y.data + (chunk.row + i) * (Contiguous ? 1 : y.row), sum); };

  if (threadIdx.x == 0) listed = 0;
  const Fetched<U> fetched(a, chunk, Contiguous);
  Row row(chunk, threadIdx.x / lanes);
  V elements[kEach];
  fetched.each(chunk, [&](int k, int) { elements[k] = load(x.data + fetched.columns[k] * (Contiguous ? 1 : x.row)); });
  fetched.each(chunk,
               [&](int k, int e) { products[e] = multiply(conjugate_if(conj, fetched.values[k]), elements[k]); });
  __syncthreads();

  for (int base = 0; base < chunk.rows; base += kThreads / lanes) {  // all lanes of a warp advance together
    const int i = base + threadIdx.x / lanes;
    const bool is_long = row.end - row.begin > kLongFactor * lanes, skipped = row.empty() && update.add;
    const int end = is_long ? row.begin : row.end;
    T sum{};
#pragma unroll 4
    for (int e = row.begin + lane; e < end; e += lanes) sum += products[e];
    row = Row(chunk, i + kThreads / lanes);
    sum = sum_of_lanes(sum, lanes);
    if (i >= chunk.rows || lane > 0 || skipped) continue;
    if (is_long) list[atomicAdd(&listed, 1)] = i;
    else write(i, sum);
  }
  if (!long_rows) return;
  __syncthreads();

  for (int r = warp; r < listed; r += kWarps) {
    const Row longer(chunk, list[r]);
    T sum{};
#pragma unroll 4
    for (int e = longer.begin + of_warp; e < longer.end; e += 32) sum += products[e];
    sum = sum_of_lanes<32>(sum);
    if (of_warp == 0) write(list[r], sum);
  }

  if (chunk.oversized) {
    const int64 end = chunk.indptr[chunk.rows + 1];
    T sum{};
#pragma unroll 4
    for (int64 e = chunk.entry + chunk.entries + threadIdx.x; e < end; e += kThreads) {
      const U value = Contiguous ? load_once(a.values + e) : a.value_once(e);
      const std::int32_t column = load_once(a.indices + e);
      sum += multiply(conjugate_if(conj, value), load(x.data + column * (Contiguous ? 1 : x.row)));
    }
    sum = sum_of_lanes<32>(sum);
    if (of_warp == 0) of_warps[warp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < kWarps; ++w) sum += of_warps[w];
      write(chunk.rows, sum);
    }
  }
}

Columns columns_for(const Dense& x, const Dense& y, int64 chunks) {
  const bool side_by_side = std::abs(x.col_stride) < std::abs(x.row_stride) || prefers_c_order(x, y);
  const int width = !side_by_side ? 1 : x.cols <= 2 ? 1 : x.cols <= 4 ? 2 : (x.cols - 1) % 16 < 8 ? 4 : 8;
  int columns = kColumns;
  while (columns > 2 * width && chunks * ceil_div(x.cols, columns) < kBlocks) columns /= 2;
  return {width, columns};
}

template <class V>
bool in_pairs(const Dense& x) {
  return x.col_stride == 1 && x.row_stride % 2 == 0 && x.cols % 2 == 0 &&
         reinterpret_cast<std::uintptr_t>(x.as<V>()) % (2 * sizeof(V)) == 0;
}

const MatvecRow* replacement(const Matrix& a, Op op, int64 longest, bool vector) {
  static const MatvecRow by_warp = gather_by_warp(), by_merge = gather_by_merge();
  const int64 rows = op.transposed ? a.cols : a.rows;
  if (vector && a.structure->stored() > kLongMean * rows) return &by_warp;
  return longest > kLongest ? &by_merge : nullptr;
}

template <class U, class V>
struct Stream {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentChunks> chunks = chunks_of_rows(a, op, kProducts);
    if (const MatvecRow* other = replacement(a, op, chunks->longest, x.cols == 1)) {
      return other->typed(dtype_of<U>(), dtype_of<V>())(a, op, alpha, x, beta, y);
    }
    if (multiply_with_x_in_c_order(run, a, op, alpha, x, beta, y)) return;
    const Rows<U> rows = Rows<U>::of(a, op);
    const Update<T> update(alpha, beta);
    const ChunkStart* first = chunks->starts();
    const auto count = static_cast<unsigned>(chunks->count);
    Block<const V> from(x);
    Block<T> to(y);
    if (x.cols == 1) {
      const bool contiguous = !rows.positions && from.row == 1 && to.row == 1;
      return launch("matvec", contiguous ? stream_vector<true, U, V> : stream_vector<false, U, V>, dim3(count),
                    dim3(kThreads), rows, op.conjugated, from, to, update, first, chunks->longest > kLongFactor);
    }
    auto kernel = stream_block<false, U, V>;
    if constexpr (sizeof(V) <= 8) {
      if (in_pairs<V>(x)) kernel = stream_block<true, U, V>;
    }
    const Columns by = columns_for(x, y, count);
    const int64 most = int64{65535} * by.columns;  // columns of x in a grid
    for (int64 c = 0; c < x.cols; c += most) {
      const int cols = static_cast<int>(std::min(x.cols - c, most));
      launch("matvec", kernel, dim3(count, static_cast<unsigned>(ceil_div(cols, by.columns))), dim3(kThreads), rows,
             op.conjugated, from, to, cols, by, update, first);
      from.data += most * from.col, to.data += most * to.col;
    }
  }
};

void prepare(const Matrix& a, Op op) {
  const int64 longest = chunks_of_rows(a, op, kProducts)->longest;
  for (const bool vector : {true, false}) {
    const MatvecRow* const other = replacement(a, op, longest, vector);
    if (other) other->prepare(a, op);
  }
}

}  // namespace

}  // namespace streams

void prepare_transpose(const Matrix& a, Op op) {
  if (op.transposed) streams::prepare(a, op);
}

MatvecRow gather_by_stream() { return {"stream", every_pair<streams::Stream, MatvecKernel>(), streams::prepare}; }

}  // namespace diagsparse::cuda::rows
