// y = alpha op(A) x + beta y by rows, with equal work per thread whatever the lengths of the rows: "merge".
//
//   op(A): m x n, by rows (rows.cuh).  x: n, or n x k.  y: m, or m x k.
//
// The steps of the work (chunks.hpp) are divided evenly: kSteps per block and kEach per thread. The position of step s,
// entry e and row i with e + i = s, is found by bisection. The block multiplies its entries, neighbouring threads
// neighbouring ones, and stores the products in shared memory. Then each thread adds its own products. The partial sum
// of a row that a thread does not end is passed to the thread that does, by a scan over the block. The partial sum of
// the block's last row is written to `carries`, and a second kernel adds these to their rows. The order of a sum is
// fixed, so every run gives the same bits. The kernel is meant for rows of very different lengths. A row costs as much
// as an entry, so for short rows a thread per row is faster.
#include <cub/block/block_scan.cuh>

#include "device/bisection.cuh"
#include "device/dense.cuh"
#include "device/lanes.cuh"
#include "kernels/rows/chunks.hpp"
#include "kernels/rows/kernels.hpp"
#include "kernels/rows/rows.cuh"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kThreads = 128, kEach = 7, kSteps = kThreads * kEach;

// The partial sum of a row that a thread does not end (rows count from the block's first), and that of a block.
template <class T>
struct Partial {
  int row;
  T sum;
};
template <class T>
struct Carry {
  int64 row;
  T sum;
};
template <class T>
struct AddPartials {
  __device__ Partial<T> operator()(const Partial<T>& a, const Partial<T>& b) const {
    return a.row == b.row ? Partial<T>{b.row, a.sum + b.sum} : b;
  }
};

// The row of a step: the number of rows that end before it.
template <class Ends>
__device__ int64 row_at(const Ends& row_end, int64 step, int64 rows, int64 entries) {
  const int64 first = step > entries ? step - entries : 0;
  return bisect(first, min(step, rows), [&](int64 i) { return row_end(i) <= step - i - 1; });
}

template <class U, class V>
__global__ void __launch_bounds__(kThreads, sizeof(Product<U, V>) > 8 ? 4 : 8)
    merge(const Rows<U> a, bool conj, const Block<const V> x, const Block<Product<U, V>> y, int64 cols,
          const __grid_constant__ Update<Product<U, V>> update, const ChunkStart* first,
          Carry<Product<U, V>>* carries) {
  using T = Product<U, V>;
  using Scan = cub::BlockScan<Partial<T>, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage scan;
  __shared__ T products[kSteps];
  __shared__ std::int32_t ends[kSteps];  // ends of the block's rows, counted from its first entry

  const int64 first_step = static_cast<int64>(blockIdx.x) * kSteps;
  const int64 row = first[blockIdx.x].row, entry = first_step - row, next = first[blockIdx.x + 1].row;
  const int rows = static_cast<int>(next - row);
  const int entries = static_cast<int>(min(first_step + kSteps, a.nnz + a.count) - next - entry);
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const int i = threadIdx.x + k * kThreads;
    if (i < rows) ends[i] = static_cast<std::int32_t>(a.indptr[row + i + 1] - entry);
  }

  for (int64 c = blockIdx.y; c < cols; c += gridDim.y) {
    U values[kEach];
    std::int32_t columns[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {  // all loads are in flight together
      const int e = threadIdx.x + k * kThreads;
      if (e >= entries) continue;
      values[k] = a.value_once(entry + e);
      columns[k] = load_once(a.indices + entry + e);
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int e = threadIdx.x + k * kThreads;
      if (e < entries) {
        products[e] = multiply(conjugate_if(conj, values[k]), load(x.data + columns[k] * x.row + c * x.col));
      }
    }
    __syncthreads();

    const int step = min(static_cast<int>(threadIdx.x) * kEach, rows + entries);
    const int stop = min(step + kEach, rows + entries);
    int i = static_cast<int>(row_at([&](int64 r) { return static_cast<int64>(ends[r]); }, step, rows, entries));
    int e = step - i;
    const int mine = i;  // the first row that this thread may end
    T sum{}, head{};     // head: its contribution to this row
    for (int s = step; s < stop; ++s) {
      if (i < rows && e == ends[i]) {
        if (i == mine) head = sum;
        else update.one(y.data + (row + i) * y.row + c * y.col, sum);
        sum = T{};
        ++i;
      } else {
        sum += products[e++];
      }
    }
    // The partial sum of the previous threads for the first row that this thread ends.
    Partial<T> before, all;
    Scan(scan).ExclusiveScan(Partial<T>{i, sum}, before, Partial<T>{-1, T{}}, AddPartials<T>{}, all);
    if (i > mine) {
      const T begun = before.row == mine ? before.sum + head : head;
      update.one(y.data + (row + mine) * y.row + c * y.col, begun);
    }
    if (threadIdx.x == 0) carries[c * gridDim.x + blockIdx.x] = {row + all.row, all.sum};
    __syncthreads();
  }
}

// For each row that several blocks end in, a warp (that of the first such block) adds everything that they carry to y,
// where a later block ended the row.
template <class T>
__global__ void __launch_bounds__(kBlock)
    add_carries(const Carry<T>* carries, int64 count, int64 rows, const Block<T> y, int64 cols,
                const __grid_constant__ Factor<T> alpha) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x / 32, tasks = count * cols;
  for (int64 task = thread_index() / 32; task < tasks; task += width) {
    const int64 c = task / count, b = task % count;
    const Carry<T>* of = carries + c * count;
    const int64 row = of[b].row;
    if (row >= rows || (b > 0 && of[b - 1].row == row)) continue;
    const int64 end = bisect(b + 1, count, [&](int64 k) { return of[k].row <= row; });
    T sum{};
    for (int64 k = b + threadIdx.x % 32; k < end; k += 32) sum += of[k].sum;
    sum = sum_of_lanes<32>(sum);
    if (threadIdx.x % 32 == 0) {
      T* const at = y.data + row * y.row + c * y.col;
      *at += alpha * sum;
    }
  }
}

template <class U, class V>
struct Merge {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    using T = Product<U, V>;
    const std::shared_ptr<ResidentChunks> chunks = chunks_of_steps(a, op, kSteps);
    const int64 count = chunks->count;
    if (count == 0 || x.cols == 0) return;
    dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(std::min<int64>(x.cols, 1024)));
    const Scratch<Carry<T>> carries(count * x.cols);
    launch("merge matvec", merge<U, V>, grid, dim3(kThreads), Rows<U>::of(a, op), op.conjugated, Block<const V>(x),
           Block<T>(y), x.cols, Update<T>(alpha, beta), chunks->starts(), carries.get());
    launch("add carries", add_carries<T>, blocks(std::min<int64>(count * x.cols, 1 << 20) * 32), dim3(kBlock),
           static_cast<const Carry<T>*>(carries.get()), count, y.rows, Block<T>(y), x.cols, Factor<T>(alpha));
  }
};

void prepare_merge(const Matrix& a, Op op) { chunks_of_steps(a, op, kSteps); }

}  // namespace

MatvecRow gather_by_merge() { return {"merge", every_pair<Merge, MatvecKernel>(), prepare_merge}; }

}  // namespace diagsparse::cuda::rows
