// Sampled products of csr and csc: C[i, j] = sum over p of X[i, p] Y[j, p] for each entry (i, j) of C.
//
//   C: m x n.  X: m x p.  Y: n x p, both in C order.  Bytes at least: X + Y + C.
//
// A warp processes consecutive entries, whatever rows they belong to, 32 at a time: each lane has the end of one of 32
// rows, and finds the row of its entry among them. Each sum is added by one thread, in order, so that every run gives
// the same bits.
#include "device/bisection.cuh"
#include "formats/csr/layout.hpp"
#include "kernels/sampled/rows.cuh"

namespace diagsparse::cuda::csr {

namespace {

using sampled::DenseRows;

constexpr int kEntries = 256;  // of a warp

template <int Width, class T>
__global__ void __launch_bounds__(kBlock)
    write_entries(const std::int64_t* indptr, const std::int32_t* indices, int64 lines, int64 count, DenseRows<T> x,
                  DenseRows<T> y, int64 length, T* values) {
  const int lane = threadIdx.x % 32;
  const int64 first = thread_index() / 32 * kEntries, last = first + kEntries < count ? first + kEntries : count;
  if (first >= count) return;
  // The last row that begins at or before the first entry.
  int64 base = bisect(1, lines, [&](int64 i) { return indptr[i] <= first; }) - 1;
  int64 end = 0;
  const auto ends = [&] { end = base + lane < lines ? indptr[base + lane + 1] : count + 1; };
  ends();
  for (int64 at = first; at < last; at += 32) {
    while (__shfl_sync(~0u, end, 31) <= at) {
      base += 32;
      ends();
    }
    const int64 e = at + lane;
    int before = 0;  // rows from `base` on that end at or before entry e
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      if (__shfl_sync(~0u, end, before + step - 1) <= e) before += step;
    }
    if (__shfl_sync(~0u, end, before) <= e) ++before;
    if (e >= last) continue;
    int64 i = base + before;
    if (before == 32) i = bisect(i, lines, [&](int64 k) { return indptr[k + 1] <= e; });
    values[e] = sampled::row_product<Width>(x[i], y[load(indices + e)], length);
  }
}

// Writes the entries of `lines` rows of csr; for csc, X and Y are exchanged.
template <class T>
void write_lines(const Dense& x, const Dense& y, int64 lines, Matrix& c) {
  const int64 count = c.structure->stored(), warps = ceil_div(count, kEntries);
  if (count == 0) return;
  sampled::with_width<T>(x, y, [&](auto width) {
    launch("sampled entries", write_entries<decltype(width)::value, T>, blocks(32 * warps), dim3(kBlock),
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
