// Products with 16-bit factors and sums in float32, on the matrix units that multiply 16 x 16 tiles. Values are
// float32, and are rounded when they are read: to float16, with 11 bits and up to 65504, or to bfloat16, with 8 bits.
// Kernels "fp16" and "bf16", and "tc_naive", "tc_2blk" and "tc_2tsk" of the thesis, in float16.
//
//   "tc_naive"  a warp computes a block of C; a task is a quarter of a tile, which is assembled in shared memory
//   "tc_2blk"   a warp computes two blocks of C, one task of each at a time: the two quarters on the diagonal
//   "tc_2tsk"   a warp computes two blocks of C, two tasks of each at a time: all quarters
//
//      A           B           C                A            B            C
//    | A1  .  |  | B1  .  |  | C1  . |        | A1 A1' |  | B1  B2  |  | C1 ... |
//    | .   A2 |  | .   B2 |  | .  C2 |        | A2 A2' |  | B1' B2' |  | ... C2 |
//
// "fp16" and "bf16" multiply like "tc_2blk". All except "tc_naive" read fragments directly from the positions of the
// values. A sum that overflows is recomputed in float32 (block_sums.cuh).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "formats/bmsparse/block_sums.cuh"
#include "formats/bmsparse/kernels.hpp"

namespace diagsparse::cuda::bmsparse {

namespace {

// Two neighbouring elements of a fragment, in type H, the first one in the lower half.
template <class H>
__device__ unsigned both(float low, float high) {
  unsigned bits;
  if constexpr (std::is_same_v<H, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    memcpy(&bits, &pair, 4);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    memcpy(&bits, &pair, 4);
  }
  return bits;
}

// c += a b for a 16 x 16, a 16 x 8 and a 16 x 8 tile. a: the upper left and lower left quarters, then those on the
// right; b: the upper and lower halves; c: those of the sums.
template <class H>
__device__ void multiply_tiles(float (&above)[2], float (&below)[2], const unsigned (&a)[4], unsigned top,
                               unsigned low) {
  if constexpr (std::is_same_v<H, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(above[0]), "+f"(above[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(top), "r"(low));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, "
        "%3};"
        : "+f"(above[0]), "+f"(above[1]), "+f"(below[0]), "+f"(below[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(top), "r"(low));
  }
}

constexpr int kTileSide = 16, kStride = kTileSide + 8;  // elements; the stride avoids bank conflicts
using Call32 = Call<float, float>;

template <bool careful>
__global__ void __launch_bounds__(kBlock) sum_naive(const __grid_constant__ Call32 call) {
  using namespace nvcuda;
  struct Tiles {
    alignas(32) __half a[kTileSide * kStride], b[kTileSide * kStride];
    alignas(32) float c[kTileSide * kTileSide];
  };
  __shared__ Tiles all[kWarps];
  if (careful && *call.non_finite < call.run) return;
  Tiles& tiles = all[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, row = lane / 4, col = 2 * (lane % 4);
  for (int e = lane; e < kTileSide * kStride; e += 32) tiles.a[e] = tiles.b[e] = __half(0.0f);
  __syncwarp();
  const Positions<float> a_positions(call.a, row, col, 0, 1), b_positions(call.b, row, col, 0, 1);
  const auto blocks = static_cast<unsigned>(call.blocks);
  for (unsigned p = blockIdx.x * kWarps + threadIdx.x / 32; p < blocks; p += gridDim.x * kWarps) {
    wmma::fragment<wmma::accumulator, kTileSide, kTileSide, kTileSide, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (std::int64_t e = call.pair_begin[p]; e < call.pair_begin[p + 1]; ++e) {
      const BlockView<float> of_a = call.a.view(call.pairs[e].x), of_b = call.b.view(call.pairs[e].y);
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        tiles.a[row * kStride + col + s] = __float2half_rn(a_positions.read(of_a, s));
        tiles.b[row * kStride + col + s] = __float2half_rn(b_positions.read(of_b, s));
      }
      __syncwarp();
      wmma::fragment<wmma::matrix_a, kTileSide, kTileSide, kTileSide, __half, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, kTileSide, kTileSide, kTileSide, __half, wmma::row_major> b;
      wmma::load_matrix_sync(a, tiles.a, kStride);
      wmma::load_matrix_sync(b, tiles.b, kStride);
      wmma::mma_sync(sum, a, b, sum);
      __syncwarp();
    }
    wmma::store_matrix_sync(tiles.c, sum, kTileSide, wmma::mem_row_major);
    __syncwarp();
    call.end<careful>(p, SingleSums{{tiles.c[row * kTileSide + col], tiles.c[row * kTileSide + col + 1]}});
    __syncwarp();
  }
}

template <bool careful, class H, int Tasks>
__global__ void __launch_bounds__(kBlock) sum_two(const __grid_constant__ Call32 call) {
  if (careful && *call.non_finite < call.run) return;
  const int lane = threadIdx.x % 32, row = lane / 4, inner = 2 * (lane % 4);
  const Positions<float> a_positions(call.a, row, inner, 0, 1), b_positions(call.b, inner, row, 1, 0);
  const auto blocks = static_cast<unsigned>(call.blocks), count = (blocks + 1) / 2;
  for (unsigned q = blockIdx.x * kWarps + threadIdx.x / 32; q < count; q += gridDim.x * kWarps) {
    const unsigned first = 2 * q, here = min(2u, blocks - first);
    std::int64_t next[2], end[2];
    for (unsigned v = 0; v < 2; ++v) {
      next[v] = v < here ? call.pair_begin[first + v] : 0;
      end[v] = v < here ? call.pair_begin[first + v + 1] : 0;
    }
    SingleSums sums[2];
    float unused[2][2] = {};  // the other sums that the unit computes, which are not used
    while (next[0] < end[0] || next[1] < end[1]) {
      unsigned a[4] = {}, b[2][2] = {};  // a[2 task + block], b[block][task]; zeros if there are no more tasks
#pragma unroll
      for (int v = 0; v < 2; ++v) {
#pragma unroll
        for (int t = 0; t < Tasks; ++t) {
          if (next[v] >= end[v]) continue;
          const int2 pair = call.pairs[next[v]++];
          const BlockView<float> of_a = call.a.view(pair.x), of_b = call.b.view(pair.y);
          a[2 * (Tasks == 1 ? v : t) + v] = both<H>(a_positions.read(of_a, 0), a_positions.read(of_a, 1));
          b[v][t] = both<H>(b_positions.read(of_b, 0), b_positions.read(of_b, 1));
        }
      }
      if constexpr (Tasks == 1) {  // A's quarters off the diagonal are zeros, and B's two are stacked
        multiply_tiles<H>(sums[0].sum, sums[1].sum, a, b[0][0], b[1][0]);
      } else {
        multiply_tiles<H>(sums[0].sum, unused[0], a, b[0][0], b[0][1]);
        multiply_tiles<H>(unused[1], sums[1].sum, a, b[1][0], b[1][1]);
      }
    }
    for (unsigned v = 0; v < here; ++v) call.end<careful>(first + v, v == 0 ? sums[0] : sums[1]);
    __syncwarp();
  }
}

void naive(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  start_both(Call32(plan, a, b, alpha, beta, c), sum_naive<false>, sum_naive<true>);
}
template <class H, int Tasks>
void two(const Plan& plan, const Matrix& a, const Matrix& b, Scalar alpha, Scalar beta, Matrix& c) {
  start_both(Call32(plan, a, b, alpha, beta, c), sum_two<false, H, Tasks>, sum_two<true, H, Tasks>, 2);
}

MatmulRow row(const char* name, MatmulKernel kernel, const char* stage) {
  Typed<MatmulKernel> typed;
  typed.at[static_cast<int>(DType::f32)][static_cast<int>(DType::f32)] = kernel;
  return {name, typed, prepare_sums, {}, stage};
}

}  // namespace

MatmulRow by_fp16() { return row("fp16", two<__half, 1>, "multiply"); }
MatmulRow by_bf16() { return row("bf16", two<__nv_bfloat16, 1>, "multiply"); }
MatmulRow by_tc_naive() { return row("tc_naive", naive, "T6 multiply"); }
MatmulRow by_tc_2blk() { return row("tc_2blk", two<__half, 1>, "T6 multiply"); }
MatmulRow by_tc_2tsk() { return row("tc_2tsk", two<__half, 2>, "T6 multiply"); }

}  // namespace diagsparse::cuda::bmsparse
