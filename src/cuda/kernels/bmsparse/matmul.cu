// Kernel "fragments": C = alpha op(A) op(B) + beta C on the FP64 matrix units, of every pair of value types.
//
//   A: m x l, B: l x n, C: m x n in blocks of 8 x 8; C's structure and the pairs of each of its blocks are the plan's
//   (core/block_products.hpp).
//
// A warp takes a block of C. Its lanes fetch what is known of 32 pairs at once, then the warp sums pair by pair: each
// lane reads two elements of A's block and two of B's from where they lie, as fragments (fragments.cuh), and two of C's
// stay in its registers. A step is left out where one of its halves is empty. Neighbouring warps take neighbouring
// blocks of C, which share blocks of A in the first cache. Sums are of double precision, also those of float32 values,
// which are rounded once; complex products are four real ones. The order is that of the pairs: the same bits on every
// run. A place that is not stored counts as zero here. So a sum that is infinite or no number is left, and noted; a
// second launch sums such elements from what is stored alone, and ends at once where nothing was noted.
// Bytes at least: A, B, C and the pairs; from the second cache a block of B for each pair.
#include <atomic>

#include "device/resident.cuh"
#include "kernels/bmsparse/fragments.cuh"
#include "kernels/bmsparse/kernels.hpp"

namespace diagsparse::cuda::bitmaps {

namespace {

// Element (r, c) of a block of C, from what is stored alone.
template <class U, class V>
__device__ Product<U, V> stored_sum(const Source<U>& a, const Source<V>& b, const int2* pairs, std::int64_t begin,
                                    std::int64_t end, int r, int c) {
  Product<U, V> sum{};
  for (std::int64_t e = begin; e < end; ++e) {
    const Piece<U> of_a = a.piece(pairs[e].x);
    const Piece<V> of_b = b.piece(pairs[e].y);
    for (int k = 0; k < kLanes; ++k) {
      if (!a.has(of_a, r, k) || !b.has(of_b, k, c)) continue;
      sum += multiply(a.value(of_a, r, k), b.value(of_b, k, c));
    }
  }
  return sum;
}

constexpr int kWarps = kBlock / 32;  // of a block of threads
constexpr int64 kFull = 56;          // elements of a block on average from which many are likely to have all
constexpr unsigned kCareful = 1024;  // blocks of threads that look after sums which are mostly none

// C and its pairs.
template <class T>
struct Target {
  int64 blocks;
  const Bitmap* bitmap;
  const std::int64_t *begin, *pair_begin;
  const int2* pairs;
  T* values;
};

// What a launch is for: matrices with many blocks that store all their elements, which are read without a look at their
// bitmaps; others; and only the sums that are infinite or no numbers, which the first pass left.
enum class Pass { full, any, careful };

template <Pass pass, class U, class V>
__device__ void sum_block(unsigned p, const Source<U>& a, const Source<V>& b, const Target<Product<U, V>>& c,
                          const Update<Product<U, V>>& update, unsigned long long* wrong, unsigned long long run) {
  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  const std::int64_t begin = c.pair_begin[p], end = c.pair_begin[p + 1];
  const Bitmap stored = up_to(c.bitmap[p], kLanes * row + 2 * inner + 1);
  const Places<U> a_places(a, row, inner, 0, 4);
  const Places<V> b_places(b, inner, row, 4, 0);
  const Bitmap a_half = a.turned ? kTop : kLeft, b_half = b.turned ? kLeft : kTop;
  Sums<Product<U, V>> sums;
  for (std::int64_t first = begin; first < end; first += 32) {
    Piece<U> lane_a{};
    Piece<V> lane_b{};
    if (first + lane < end) {
      const int2 pair = c.pairs[first + lane];
      lane_a = a.piece(pair.x);
      lane_b = b.piece(pair.y);
    }
    const int here = static_cast<int>(min(static_cast<std::int64_t>(32), end - first));
#pragma unroll 1
    for (int e = 0; e < here; ++e) {
      const Piece<U> of_a = from_lane(lane_a, e);
      const Piece<V> of_b = from_lane(lane_b, e);
      U of_step_a[2] = {};
      V of_step_b[2] = {};
      bool some[2] = {true, true};  // whether a step has something on both sides, the same in all lanes
      if (pass == Pass::full && (of_a.bitmap & of_b.bitmap) == ~Bitmap{0}) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          of_step_a[s] = a_places.read_full(of_a, s), of_step_b[s] = b_places.read_full(of_b, s);
        }
      } else {
        some[0] = (of_a.bitmap & a_half) != 0 && (of_b.bitmap & b_half) != 0;
        some[1] = (of_a.bitmap & ~a_half) != 0 && (of_b.bitmap & ~b_half) != 0;
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (some[s]) of_step_a[s] = a_places.read(of_a, s), of_step_b[s] = b_places.read(of_b, s);
        }
      }
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        if (some[s]) sums.add(of_step_a[s], of_step_b[s]);
      }
    }
  }
  Product<U, V>* const last = c.values + c.begin[p] + __popcll(stored) - 1;  // of this lane's two
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    if (!(stored >> (1 - v) & 1)) continue;
    Product<U, V>* const to = last - (v == 0 ? static_cast<int>(stored & 1) : 0);
    constexpr bool careful = pass == Pass::careful;
    if (sums.finite(v) == careful) {
      if constexpr (!careful) atomicMax(wrong, run);
      continue;
    }
    if constexpr (careful) update.one(to, stored_sum(a, b, c.pairs, begin, end, row, 2 * inner + v));
    else if (update.plain) *to = sums.value(v);
    else update.one(to, sums.value(v));
  }
}

template <Pass pass, class U, class V>
__global__ void __launch_bounds__(kBlock, pass == Pass::careful || is_complex<Product<U, V>> ? 4 : 6)
    sum_pairs(const Source<U> a, const Source<V> b, const Target<Product<U, V>> c,
              const __grid_constant__ Update<Product<U, V>> update, unsigned long long* wrong, unsigned long long run) {
  if (pass == Pass::careful && *wrong < run) return;
  const auto blocks = static_cast<unsigned>(c.blocks);
  for (unsigned p = blockIdx.x * kWarps + threadIdx.x / 32; p < blocks; p += gridDim.x * kWarps) {
    sum_block<pass>(p, a, b, c, update, wrong, run);
  }
}

// Whether a run of the plan met a sum that is infinite or no number: the number of the last such run.
struct Wrong {
  Array run = Array::zeros(DType::u64, {1});
  std::atomic<unsigned long long> runs{0};

  template <class F>
  void visit(const F& f) const {
    f(run);
  }
};
std::shared_ptr<Wrong> wrong_of(const Plan& plan) {
  return keep<Wrong>(plan.kept, "wrong", [] { return std::make_shared<Wrong>(); });
}

template <class U, class V>
struct Fragments {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const BlockWork& work = block_work(plan);
    used_on_this_stream(work.indptr);
    used_on_this_stream(work.pairs);
    const auto wrong = wrong_of(plan);
    const auto arrays = Bmsparse<T>::of(c);
    const Target<T> to{work.indptr.size() - 1,
                       arrays.bitmap,
                       arrays.begin,
                       work.indptr.as<const std::int64_t>(),
                       reinterpret_cast<const int2*>(work.pairs.data),
                       c.values.as<T>()};
    const auto start = [&](auto kernel, dim3 grid, unsigned long long run) {
      launch("bmsparse matmul", kernel, grid, dim3(kBlock), Source<U>(a, plan.op_a), Source<V>(b, plan.op_b), to,
             Update<T>(alpha, beta), wrong->run.template as<unsigned long long>(), run);
    };
    const unsigned long long run = ++wrong->runs;
    const dim3 grid = blocks(32 * to.blocks);
    const auto full = [](const Matrix& m) { return m.values.size() >= kFull * m.index("block_col").size(); };
    if (full(a) && full(b)) start(sum_pairs<Pass::full, U, V>, grid, run);
    else start(sum_pairs<Pass::any, U, V>, grid, run);
    start(sum_pairs<Pass::careful, U, V>, dim3(std::min(grid.x, kCareful)), run);
  }
};

void prepare(const Plan& plan) { wrong_of(plan); }

}  // namespace

MatmulRow by_fragments() { return {"fragments", every_pair<Fragments, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::bitmaps
