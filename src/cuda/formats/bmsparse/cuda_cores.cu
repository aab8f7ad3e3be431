// Kernel "cuda_cores" of the thesis, also used by the kernels that differ from it only in their list of tasks
// (tasks.cu): C = alpha op(A) op(B) + beta C without matrix units, for every pair of value types.
//
//   64 threads compute a block of C, one thread per element (r, c). For each task they load both blocks into shared
//   memory, and the thread adds A[r, k] B[k, c] for those k for which both are stored: k runs over the bits that row r
//   of A's bitmap and column c of B's have in common.
//
// Sums have the precision of C. Every run gives the same bits.
#include "formats/bmsparse/block_sums.cuh"
#include "formats/bmsparse/fragments.cuh"
#include "formats/bmsparse/kernels.hpp"

namespace diagsparse::cuda::bmsparse {

namespace {

constexpr int kPositions = static_cast<int>(kTile * kTile);

template <class U, class V>
__global__ void __launch_bounds__(kPositions) sum_elements(const __grid_constant__ Call<U, V> call) {
  using T = Product<U, V>;
  __shared__ Bits<U> of_a[kPositions];
  __shared__ Bits<V> of_b[kPositions];
  const int position = threadIdx.x, r = position / kLanes, c = position % kLanes;
  const int64 p = blockIdx.x;
  T sum{};
  for (std::int64_t e = call.pair_begin[p]; e < call.pair_begin[p + 1]; ++e) {
    const BlockView<U> a = call.a.view(call.pairs[e].x);
    const BlockView<V> b = call.b.view(call.pairs[e].y);
    if (call.a.has(a, r, c)) of_a[position] = to_bits(call.a.value(a, r, c));
    if (call.b.has(b, r, c)) of_b[position] = to_bits(call.b.value(b, r, c));
    const unsigned row = row_bits(transpose_if(call.a.transpose, a.bitmap), r);
    const unsigned col = row_bits(transpose_if(!call.b.transpose, b.bitmap), c);
    __syncthreads();
    for (unsigned left = row & col; left != 0;) {
      const int k = __clz(left) - 24;
      sum += multiply(from_bits<U>(of_a[kLanes * r + k]), from_bits<V>(of_b[kLanes * k + c]));
      left ^= 0x80u >> k;
    }
    __syncthreads();
  }
  const Bitmap stored = up_to(call.bitmap[p], position);
  if (stored & 1) call.update.one(call.values + call.begin[p] + __popcll(stored) - 1, sum);
}

template <class U, class V>
struct Positions64 {
  static void run(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
    const Call<U, V> call(plan, a, b, alpha, beta, c);
    launch("bmsparse matmul", sum_elements<U, V>, dim3(static_cast<unsigned>(call.blocks)), dim3(kPositions), call);
  }
};

}  // namespace

MatmulRow by_cuda_cores(const char* name) {
  return {name, every_pair<Positions64, MatmulKernel>(), prepare_sums, {}, "T6 multiply"};
}

}  // namespace diagsparse::cuda::bmsparse
