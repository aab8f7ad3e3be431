// Sampled products of bmsparse: C[i, j] = sum over p of X[i, p] Y[j, p] for the stored elements of its blocks.
//
//   C: m x n in blocks of 8 x 8.  X: m x p.  Y: n x p, both in C order.  Bytes at least: X + Y + C.
//
// A warp processes a row of blocks, one block after another; a lane handles two of its 64 elements, and counts bits to
// find their values, which are consecutive. Sums are added in a fixed order, so that every run gives the same bits.
#include "formats/bmsparse/blocks.cuh"
#include "kernels/sampled/rows.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

using sampled::DenseRows;
using sampled::Reading;

template <Reading Kind, class T>
__global__ void __launch_bounds__(kBlock)
    write_blocks(const Bmsparse<T> c, DenseRows<T> x, DenseRows<T> y, int64 length, T* values) {
  const int64 i = thread_index() / 32;
  if (kTile * i >= c.rows) return;
  const int lane = threadIdx.x % 32;
  for (int64 b = c.indptr[i]; b < c.indptr[i + 1]; ++b) {
    const Bitmap bitmap = c.bitmap[b];
    T* const to = values + c.begin[b] - 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = 32 * half + lane;
      const Bitmap before = up_to(bitmap, position);
      const int64 row = kTile * i + position / kTile, column = kTile * c.col[b] + position % kTile;
      const T sum = sampled::row_product<Kind>(before & 1, x[row], y[column], length);
      if (before & 1) store_once(to + __popcll(before), sum);
    }
  }
}

template <class T, class>
struct SampledBlocks {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    sampled::with_reading<T>(x, y, [&](auto kind) {
      launch("sampled blocks", write_blocks<decltype(kind)::value, T>, blocks(32 * tiles_along(c.rows)), dim3(kBlock),
             Bmsparse<T>::of(c), DenseRows<T>(x), DenseRows<T>(y), x.cols, c.values.as<T>());
    });
  }
};

const RegisterSampled registered_sampled("bmsparse", 0, &one_type<SampledBlocks, SampledKernel>);

}  // namespace

}  // namespace diagsparse::cuda::bmsparse
