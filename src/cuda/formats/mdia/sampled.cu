// Sampled products of mdia: C[i, i + k] = sum over p of X[i, p] Y[i + k, p] for the stored elements of its diagonals k.
//
//   C: m x n masked diagonals, both triangles, without a palette.  X: m x p.  Y: n x p, both in C order.  Bytes at
//   least: X + Y + C.
//
// A warp processes a block of 32 rows, and a lane a row. The lanes check 32 diagonals at a time, count the values of
// each, and list those that have some; then each lane writes its values on four of these at once, which are consecutive
// in memory for the warp. Sums are added in a fixed order, so that every run gives the same bits.
#include "formats/mdia/masks.cuh"
#include "kernels/sampled/rows.cuh"

namespace diagsparse::cuda::mdia {

namespace {

using sampled::DenseRows;
using sampled::Reading;

constexpr int kSampledThreads = 128, kSampledAt = 4;

struct alignas(16) ListedMask {
  std::int64_t offset;
  Mask rows;
  std::uint32_t begin;  // among the values of these 32 diagonals
};

template <Reading Kind, class T>
__global__ void __launch_bounds__(kSampledThreads)
    write_masks(const Mdia<T> c, DenseRows<T> x, DenseRows<T> y, int64 length, T* values) {
  __shared__ ListedMask lists[kSampledThreads / 32][32];
  const int64 block = thread_index() / 32;
  if (block >= c.blocks()) return;
  const int lane = threadIdx.x % 32;
  const int64 row = kMaskRows * block + lane;
  const Mask lower = below(lane);
  ListedMask* const list = lists[threadIdx.x / 32];
  T* next = values + c.begin[block];
  for (int64 base = 0; base < c.diagonals; base += 32) {
    const int64 d = base + lane;
    const Mask mine = d < c.diagonals ? c.mask[block * c.diagonals + d] : 0;
    std::uint32_t end = __popc(mine);  // including those of the previous lanes
    for (int step = 1; step < 32; step *= 2) {
      const std::uint32_t other = __shfl_up_sync(~0u, end, step);
      if (lane >= step) end += other;
    }
    const unsigned some = __ballot_sync(~0u, mine != 0);
    const int count = __popc(some);
    if (mine != 0) list[__popc(some & lower)] = {c.offsets[d], mine, end - __popc(mine)};
    if (lane >= count) list[lane].rows = 0;
    __syncwarp();
#pragma unroll 1
    for (int first = 0; first < count; first += kSampledAt) {
      T sum[kSampledAt];
#pragma unroll
      for (int k = 0; k < kSampledAt; ++k) {
        const ListedMask here = list[first + k];
        sum[k] = sampled::row_product<Kind>(here.rows >> lane & 1, x[row], y[row + here.offset], length);
      }
#pragma unroll
      for (int k = 0; k < kSampledAt; ++k) {
        const ListedMask here = list[first + k];
        if (here.rows >> lane & 1) store_once(next + (here.begin + __popc(here.rows & lower)), sum[k]);
      }
    }
    __syncwarp();
    next += __shfl_sync(~0u, end, 31);
  }
}

template <class T, class>
struct SampledMasks {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    const auto to = Mdia<T>::of(c);
    const dim3 grid(static_cast<unsigned>(ceil_div(to.blocks(), kSampledThreads / 32)));
    sampled::with_reading<T>(x, y, [&](auto kind) {
      launch("sampled masks", write_masks<decltype(kind)::value, T>, grid, dim3(kSampledThreads), to, DenseRows<T>(x),
             DenseRows<T>(y), x.cols, c.values.as<T>());
    });
  }
};

const RegisterSampled registered_sampled("mdia", 0, &one_type<SampledMasks, SampledKernel>);

}  // namespace

}  // namespace diagsparse::cuda::mdia
