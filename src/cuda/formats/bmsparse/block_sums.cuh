// Sums of blocks of C: the arguments of kernels that multiply pairs of blocks, and how they write their results.
//
// Lane l of a warp holds elements (l / 4, 2 (l % 4)) and the next one of a block of C. Elements that are not stored are
// multiplied as zeros. Therefore a sum that is not finite is not written, but recorded; a second launch recomputes such
// sums from the stored elements only, and ends immediately if none was recorded.
#pragma once

#include <atomic>

#include "device/resident.cuh"
#include "formats/bmsparse/fragments.cuh"
#include "formats/bmsparse/warp_sums.cuh"

namespace diagsparse::cuda::bmsparse {

constexpr int kWarps = kBlock / 32;  // warps per thread block

// Whether a sum in a run of the plan was not finite: the number of the last such run.
struct NonFinite {
  Array run = Array::zeros(DType::u64, {1});
  std::atomic<unsigned long long> runs{0};

  auto arrays() const { return std::tie(run); }
};
inline std::shared_ptr<NonFinite> non_finite_of(const Plan& plan) {
  return cached<NonFinite>(plan.cache, "non-finite sums", [] { return std::make_shared<NonFinite>(); });
}
inline void prepare_sums(const Plan& plan) { non_finite_of(plan); }

// A run of a plan.
template <class U, class V>
struct Call {
  using T = Product<U, V>;

  Source<U> a;
  Source<V> b;
  int64 blocks;  // number of blocks of C
  const Bitmap* bitmap;
  const std::int64_t *begin, *pair_begin;
  const int2* pairs;
  T* values;
  Update<T> update;
  unsigned long long *non_finite, run;

  Call(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c)
      : a(left, plan.op_a),
        b(right, plan.op_b),
        blocks(block_work(plan).indptr.size() - 1),
        bitmap(c.index("bitmap").as<Bitmap>()),
        begin(c.index("value_indptr").as<std::int64_t>()),
        pair_begin(block_work(plan).indptr.as<const std::int64_t>()),
        pairs(reinterpret_cast<const int2*>(block_work(plan).pairs.data)),
        values(c.values.as<T>()),
        update(alpha, beta) {
    used_on_this_stream(block_work(plan).indptr);
    used_on_this_stream(block_work(plan).pairs);
    const std::shared_ptr<NonFinite> noted = non_finite_of(plan);
    non_finite = noted->run.as<unsigned long long>();
    run = ++noted->runs;
  }

  // Element (r, c) of block p of C from the stored elements only, in double precision.
  __device__ T stored_sum(unsigned p, int r, int c) const {
    Wide<T> sum{};
    for (std::int64_t e = pair_begin[p]; e < pair_begin[p + 1]; ++e) {
      const BlockView<U> of_a = a.view(pairs[e].x);
      const BlockView<V> of_b = b.view(pairs[e].y);
      for (int k = 0; k < kLanes; ++k) {
        if (!a.has(of_a, r, k) || !b.has(of_b, k, c)) continue;
        sum += multiply(convert<Wide<U>>(a.value(of_a, r, k)), convert<Wide<V>>(b.value(of_b, k, c)));
      }
    }
    return convert<T>(sum);
  }

  // Writes those of the lane's two sums that C stores, or records that they are not finite; a careful pass writes only
  // those that are not.
  template <bool careful, class S>
  __device__ void end(unsigned p, const S& sums) const {
    const int row = threadIdx.x % 32 / 4, col = 2 * (threadIdx.x % 4);
    const Bitmap stored = up_to(bitmap[p], kLanes * row + col + 1);
    T* const last = values + begin[p] + __popcll(stored) - 1;  // position of the last of this lane's two
#pragma unroll
    for (int v = 0; v < 2; ++v) {
      if (!(stored >> (1 - v) & 1)) continue;
      T* const to = last - (v == 0 ? static_cast<int>(stored & 1) : 0);
      if (sums.finite(v) == careful) {
        if constexpr (!careful) atomicMax(non_finite, run);
        continue;
      }
      if constexpr (careful) update.one(to, stored_sum(p, row, col + v));
      else if (update.plain) *to = sums.value(v);
      else update.one(to, sums.value(v));
    }
  }
};

// Launches both passes; a warp computes `each` blocks of C at once.
constexpr unsigned kCareful = 1024;  // thread blocks that look for sums to recompute, of which there are usually none
template <class C, class Kernel>
void start_both(const C& call, Kernel plain, Kernel careful, int each = 1) {
  const dim3 grid = blocks(32 * ceil_div(call.blocks, each));
  launch("bmsparse matmul", plain, grid, dim3(kBlock), call);
  launch("bmsparse matmul", careful, dim3(std::min(grid.x, kCareful)), dim3(kBlock), call);
}

}  // namespace diagsparse::cuda::bmsparse
