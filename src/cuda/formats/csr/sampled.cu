// Sampled products of csr and csc: C[i, j] = sum over p of X[i, p] Y[j, p] for each entry (i, j) of C.
//
//   C: m x n.  X: m x p.  Y: n x p, both in C order.  Bytes at least: X + Y + C.
//
// A warp processes consecutive entries, whatever rows they belong to, 32 at a time: each lane has the end of one of 32
// rows, and finds the row of its entry among them. The columns of all entries of the warp are loaded first, and for
// vectors also the elements of Y. Sums are added in a fixed order, so that every run gives the same bits.
#include "device/bisection.cuh"
#include "formats/csr/layout.hpp"
#include "kernels/sampled/rows.cuh"

namespace diagsparse::cuda::csr {

namespace {

using sampled::DenseRows;
using sampled::Reading;

constexpr int kTimes = 8, kEntries = 32 * kTimes;  // of a warp

// The last row that begins at or before an entry. All lanes of a warp search together.
__device__ int64 row_of(const std::int64_t* indptr, int64 lines, int64 entry, int lane) {
  int64 first = 0, last = lines;  // it is in [first, last)
  while (last - first > 1) {
    const int64 each = (last - first + 31) / 32, mine = first + lane * each;
    const bool before = mine < last && indptr[mine] <= entry;
    const int at = __popc(__ballot_sync(~0u, before)) - 1;  // indptr ascends; row `first` begins before the entry
    first += at * each;
    last = first + each < last ? first + each : last;
  }
  return first;
}

template <Reading Kind, class T>
__global__ void __launch_bounds__(kBlock)
    write_entries(const std::int64_t* indptr, const std::int32_t* indices, int64 lines, int64 count, DenseRows<T> x,
                  DenseRows<T> y, int64 length, T* values) {
  const int lane = threadIdx.x % 32;
  const int64 first = thread_index() / 32 * kEntries;
  if (first >= count) return;
  const int some = static_cast<int>(count - first < kEntries ? count - first : kEntries);
  std::int32_t column[kTimes];
#pragma unroll
  for (int k = 0; k < kTimes; ++k) column[k] = 32 * k + lane < some ? load_once(indices + first + 32 * k + lane) : 0;
  [[maybe_unused]] T right[kTimes];
  if constexpr (Kind == Reading::single) {
#pragma unroll
    for (int k = 0; k < kTimes; ++k) right[k] = load(y[column[k]]);
  }
  int64 base = row_of(indptr, lines, first, lane);
  int end = 0;  // of row base + lane, relative to the first entry
  const auto ends = [&] {
    const int64 relative = base + lane < lines ? indptr[base + lane + 1] - first : kEntries + 1;
    end = static_cast<int>(relative < kEntries + 1 ? relative : kEntries + 1);
  };
  ends();
#pragma unroll
  for (int k = 0; k < kTimes; ++k) {
    if (32 * k >= some) break;
    while (__shfl_sync(~0u, end, 31) <= 32 * k) {
      base += 32;
      ends();
    }
    const int e = 32 * k + lane;
    int before = 0;  // rows from `base` on that end at or before entry e
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      if (__shfl_sync(~0u, end, before + step - 1) <= e) before += step;
    }
    if (__shfl_sync(~0u, end, before) <= e) ++before;
    const bool active = e < some;
    int64 i = base + before;
    if (active && before == 32) i = bisect(i, lines, [&](int64 row) { return indptr[row + 1] <= first + e; });
    if constexpr (Kind == Reading::single) {
      if (active) store_once(values + first + e, multiply(load(x[i]), right[k]));
    } else {
      const T sum = sampled::row_product<Kind>(active, x[i], y[column[k]], length);
      if (active) store_once(values + first + e, sum);
    }
  }
}

// Writes the entries of `lines` rows of csr; for csc, X and Y are exchanged.
template <class T>
void write_lines(const Dense& x, const Dense& y, int64 lines, Matrix& c) {
  const int64 count = c.structure->stored(), warps = ceil_div(count, kEntries);
  if (count == 0) return;
  sampled::with_reading<T>(x, y, [&](auto kind) {
    launch("sampled entries", write_entries<decltype(kind)::value, T>, blocks(32 * warps), dim3(kBlock),
           c.index("indptr").as<const std::int64_t>(), c.index("indices").as<const std::int32_t>(), lines, count,
           DenseRows<T>(x), DenseRows<T>(y), x.cols, c.values.as<T>());
  });
}

template <class T, class>
struct SampledCsr {
  static void run(const Dense& x, const Dense& y, Matrix& c) { write_lines<T>(x, y, c.rows, c); }
};
template <class T, class>
struct SampledCsc {
  static void run(const Dense& x, const Dense& y, Matrix& c) { write_lines<T>(y, x, c.cols, c); }
};

const RegisterSampled of_rows("csr", 0, &one_type<SampledCsr, SampledKernel>),
    of_columns("csc", 0, &one_type<SampledCsc, SampledKernel>);

}  // namespace

}  // namespace diagsparse::cuda::csr
