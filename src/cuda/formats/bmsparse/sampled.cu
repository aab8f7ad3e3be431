// Sampled products of bmsparse: C[i, j] = sum over p of X[i, p] Y[j, p] for the stored elements of its blocks.
//
//   C: m x n in blocks of 8 x 8.  X: m x p.  Y: n x p, both in C order.  Bytes at least: X + Y + C.
//
// A warp processes a row of blocks, one block after another; a lane handles two of its 64 elements, and counts bits to
// find their values, which are consecutive. Each sum is added by one thread, in order, so that every run gives the same
// bits.
#include "formats/bmsparse/blocks.cuh"
#include "kernels/sampled/rows.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

using sampled::DenseRows;

template <int Width, class T>
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
      if ((before & 1) == 0) continue;
      const int64 row = kTile * i + position / kTile, column = kTile * c.col[b] + position % kTile;
      to[__popcll(before)] = sampled::row_product<Width>(x[row], y[column], length);
    }
  }
}

template <class T, class>
struct SampledBlocks {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    sampled::with_width<T>(x, y, [&](auto width) {
      launch("sampled blocks", write_blocks<decltype(width)::value, T>, blocks(32 * tiles_along(c.rows)), dim3(kBlock),
             Bmsparse<T>::of(c), DenseRows<T>(x), DenseRows<T>(y), x.cols, c.values.as<T>());
    });
  }
};

const RegisterSampled registered_sampled("bmsparse", 0, &one_type<SampledBlocks, SampledKernel>);

}  // namespace

}  // namespace diagsparse::cuda::bmsparse
