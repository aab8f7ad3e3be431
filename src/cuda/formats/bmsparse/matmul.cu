// Kernels "fragments" and "tf32": C = alpha op(A) op(B) + beta C on the matrix units.
//
//   A: m x l, B: l x n, C: m x n in blocks of 8 x 8; the plan contains C's structure and the pairs of each of its
//   blocks (formats/bmsparse/products.hpp).
//
// A warp computes a block of C. Its lanes load the bitmaps and pointers of 32 pairs at once; then the warp adds the
// products pair by pair. Each lane reads two elements of A's block and two of B's directly from their positions, as
// fragments (fragments.cuh), and holds two of C's in registers. A step is skipped if one of its halves is empty.
// Neighbouring warps compute neighbouring blocks of C, which share blocks of A in the L1 cache. Products are added in
// the order of the pairs, so every run gives the same bits.
//
// "fragments", the default, supports every pair of value types. Its sums have double precision, even for float32
// values, and are rounded once; complex products are four real ones. "tf32" supports only float32, and rounds factors
// to 11 bits. Bytes at least: A, B, C and the pairs; from the L2 cache, a block of B for each pair.
#include "formats/bmsparse/block_sums.cuh"
#include "formats/bmsparse/kernels.hpp"

namespace diagsparse::cuda::bmsparse {

namespace {

constexpr int64 kFull = 56;  // mean number of elements per block from which many blocks are likely to be full

// What a launch is for: matrices with many blocks that store all their elements, which are read without their bitmaps;
// other matrices; and only the sums that are not finite, which the first pass has not written.
enum class PairPass { full, any, careful };

template <PairPass pass, class S, class U, class V>
__device__ void sum_block(unsigned p, const Call<U, V>& call) {
  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  const std::int64_t begin = call.pair_begin[p], end = call.pair_begin[p + 1];
  const Positions<U> a_positions(call.a, row, inner, 0, 4);
  const Positions<V> b_positions(call.b, inner, row, 4, 0);
  const Bitmap a_half = call.a.transpose ? kTop : kLeft, b_half = call.b.transpose ? kLeft : kTop;
  S sums;
  for (std::int64_t first = begin; first < end; first += 32) {
    BlockView<U> lane_a{};
    BlockView<V> lane_b{};
    if (first + lane < end) {
      const int2 pair = call.pairs[first + lane];
      lane_a = call.a.view(pair.x);
      lane_b = call.b.view(pair.y);
    }
    const int here = static_cast<int>(min(static_cast<std::int64_t>(32), end - first));
#pragma unroll 1
    for (int e = 0; e < here; ++e) {
      const BlockView<U> of_a = from_lane(lane_a, e);
      const BlockView<V> of_b = from_lane(lane_b, e);
      U of_step_a[2] = {};
      V of_step_b[2] = {};
      bool some[2] = {true, true};  // whether a step has elements on both sides, equal in all lanes
      if (pass == PairPass::full && (of_a.bitmap & of_b.bitmap) == kFullBitmap) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          of_step_a[s] = a_positions.read_full(of_a, s), of_step_b[s] = b_positions.read_full(of_b, s);
        }
      } else {
        some[0] = (of_a.bitmap & a_half) != 0 && (of_b.bitmap & b_half) != 0;
        some[1] = (of_a.bitmap & ~a_half) != 0 && (of_b.bitmap & ~b_half) != 0;
#pragma unroll
        for (int s = 0; s < 2; ++s) {
          if (some[s]) of_step_a[s] = a_positions.read(of_a, s), of_step_b[s] = b_positions.read(of_b, s);
        }
      }
      sums.add(of_step_a, of_step_b, some);
    }
  }
  call.template end<pass == PairPass::careful>(p, sums);
}

template <PairPass pass, class S, class U, class V>
__global__ void __launch_bounds__(kBlock, pass == PairPass::careful || is_complex<Product<U, V>> ? 4 : 6)
    sum_pairs(const __grid_constant__ Call<U, V> call) {
  if (pass == PairPass::careful && *call.non_finite < call.run) return;
  const auto blocks = static_cast<unsigned>(call.blocks);
  for (unsigned p = blockIdx.x * kWarps + threadIdx.x / 32; p < blocks; p += gridDim.x * kWarps) {
    sum_block<pass, S>(p, call);
    __syncwarp();
  }
}

template <class S, class U, class V>
void sum_with(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  const auto full = [](const Matrix& m) { return m.values.size() >= kFull * m.index("block_col").size(); };
  start_both(Call<U, V>(plan, a, b, alpha, beta, c),
             full(a) && full(b) ? sum_pairs<PairPass::full, S, U, V> : sum_pairs<PairPass::any, S, U, V>,
             sum_pairs<PairPass::careful, S, U, V>);
}

template <class U, class V>
struct Fragments {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    sum_with<Sums<Product<U, V>>, U, V>(plan, a, b, alpha, beta, c);
  }
};

}  // namespace

MatmulRow by_fragments() { return {"fragments", every_pair<Fragments, MatmulKernel>(), prepare_sums}; }

MatmulRow by_tf32() {
  Typed<MatmulKernel> typed;
  typed.at[static_cast<int>(DType::f32)][static_cast<int>(DType::f32)] = sum_with<RoundedSums, float, float>;
  return {"tf32", typed, prepare_sums};
}

}  // namespace diagsparse::cuda::bmsparse
