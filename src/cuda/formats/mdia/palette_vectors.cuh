// y = alpha op(A) x + beta y for a matrix with a palette, read in the order in which it is stored, and a vector whose
// elements are contiguous.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n.  y: m.
//
// Most diagonals have one value, so a mask is all that is read of them. There are two kernels for these diagonals:
//
// `sum_bits`: a warp processes a block of 32 rows. Each lane loads the mask of a diagonal. The warp transposes these 32
//     words, so that each lane has the diagonals of its row as bits, and walks those that are set.
// `sum_tall`: a warp processes four blocks. Each lane loads the four masks of a diagonal. Diagonals that have all of
//     these rows are listed apart, because they need no masks; then each lane processes four rows, 32 apart.
//
// Both then add the other diagonals, one after another. The second kernel executes fewer instructions, but has fewer
// warps.
#pragma once

#include "device/dense.cuh"
#include "formats/mdia/palette_operand.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kStaged = 64;  // diagonals that are examined together, two per lane

// ---- One block, the diagonals of a row as bits ------------------------------------------------------------------
// Lane i gets bit i of the words of all lanes.
__device__ inline std::uint32_t transposed_bits(std::uint32_t word, int lane) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const std::uint32_t low = ~0u / ((1u << step) + 1);  // every other group of `step` bits
    const std::uint32_t other = __shfl_xor_sync(~0u, word, step);
    word = lane & step ? (word & ~low) | (other >> step & low) : (word & low) | (other << step & ~low);
  }
  return word;
}

template <class U, class V>
__global__ void __launch_bounds__(256, 8)
    sum_bits(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, const Block<Product<U, V>> y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using W = decltype(arithmetic(U{}));
  struct alignas(16) Entry {
    std::int64_t across;
    W value;
  };
  __shared__ Entry table[kStaged];
  __shared__ std::uint32_t single[2];
  const Mdia<U>& a = m.a;
  const int lane = threadIdx.x % 32;
  const int64 block = thread_index() / 32, row = kMaskRows * block + lane;
  const bool inside = block < a.blocks();
  const V* const in = x + row;
  AllOtherElements<1, U> others(m, block, lane);
  T sum[1] = {};
  for (int64 base = 0; base < a.diagonals; base += kStaged) {
    std::uint32_t word[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int64 d = base + 32 * j + lane;
      word[j] = inside && d < a.diagonals ? __ldcs(a.mask + block * a.diagonals + d) : 0;
    }
    if (base > 0) __syncthreads();
    if (threadIdx.x < kStaged) {
      const int64 d = base + threadIdx.x;
      bool alone = false;
      if (d < a.diagonals) {
        const Coding coding = a.codings[d];
        alone = coding.bits == 0;
        if (alone)
          table[threadIdx.x] = {a.offsets[d] * static_cast<std::int64_t>(sizeof(V)), m.value(a.values + coding.table)};
      }
      const std::uint32_t all = __ballot_sync(~0u, alone);
      if (lane == 0) single[threadIdx.x / 32] = all;
    }
    __syncthreads();
#pragma unroll
    for (int j = 1; j >= 0; --j) {
      if (base + 32 * j >= a.diagonals) continue;
      std::uint32_t left = transposed_bits(word[j], lane) & single[j];
#pragma unroll 1
      while (left != 0) {
        const int d = 31 - __clz(left);
        left ^= 1u << d;
        const Entry first = table[32 * j + d];
        const V factor = load(moved(in, first.across));
        if (left != 0) {
          const int e = 31 - __clz(left);
          left ^= 1u << e;
          const Entry second = table[32 * j + e];
          const V next = load(moved(in, second.across));
          sum[0] += multiply(first.value, factor);
          sum[0] += multiply(second.value, next);
        } else {
          sum[0] += multiply(first.value, factor);
        }
      }
    }
  }
  if (!inside) return;
  others.add(m, block, lane, in, sum);
  if (row >= a.rows) return;
  if (update.plain) store_once(y.data + row * y.row, sum[0]);
  else update.one(y.data + row * y.row, sum[0]);
}

// ---- Four blocks, lists of diagonals ----------------------------------------------------------------------------
constexpr int kTall = 4;
constexpr int kTallThreads = 128;

template <class U, class V>
__global__ void __launch_bounds__(kTallThreads, sizeof(Product<U, V>) > 8 ? 5 : 8)
    sum_tall(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, const Block<Product<U, V>> y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using W = decltype(arithmetic(U{}));
  struct alignas(16) Entry {
    std::int64_t across;
    W value;
  };
  struct alignas(16) Masks {
    Mask of[kTall];
  };
  __shared__ Entry entries[kTallThreads / 32][kStaged];
  __shared__ Masks masks[kTallThreads / 32][kStaged];
  Entry* const list = entries[threadIdx.x / 32];
  Masks* const rows_of = masks[threadIdx.x / 32];
  const Mdia<U>& a = m.a;
  const int lane = threadIdx.x % 32;
  const Mask lower = below(lane), bit = Mask{1} << lane;
  const int64 block = thread_index() / 32 * kTall, row = kMaskRows * block + lane;
  if (block >= a.blocks()) return;
  const V* const in = x + row;
  AllOtherElements<kTall, U> others(m, block, lane);
  T sum[kTall] = {};
  for (int64 base = 0; base < a.diagonals; base += kStaged) {
    Masks mine[2];
    Entry entry[2];
    bool full[2], part[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int64 d = base + 32 * j + lane;
      Mask any = 0, all = kAllRows;
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        const bool exists = d < a.diagonals && block + k < a.blocks();
        mine[j].of[k] = exists ? __ldcs(a.mask + (block + k) * a.diagonals + d) : 0;
      }
      bool alone = false;
      if (d < a.diagonals) {
        const Coding coding = a.codings[d];
        alone = coding.bits == 0;
        if (alone) entry[j] = {a.offsets[d] * static_cast<std::int64_t>(sizeof(V)), m.value(a.values + coding.table)};
      }
#pragma unroll
      for (int k = 0; k < kTall; ++k) any |= mine[j].of[k], all &= mine[j].of[k];
      full[j] = alone && all == kAllRows;
      part[j] = alone && any != 0 && all != kAllRows;
    }
    const std::uint32_t full_0 = __ballot_sync(~0u, full[0]), full_1 = __ballot_sync(~0u, full[1]);
    const std::uint32_t part_0 = __ballot_sync(~0u, part[0]), part_1 = __ballot_sync(~0u, part[1]);
    const int full_count = __popc(full_0) + __popc(full_1), count = full_count + __popc(part_0) + __popc(part_1);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int before_full = (j ? __popc(full_0) : 0) + __popc((j ? full_1 : full_0) & lower);
      const int before_part = (j ? __popc(part_0) : 0) + __popc((j ? part_1 : part_0) & lower);
      if (full[j]) list[before_full] = entry[j];
      if (part[j]) list[full_count + before_part] = entry[j], rows_of[full_count + before_part] = mine[j];
    }
    __syncwarp();
    int at = 0;
#pragma unroll 1
    for (; at + 2 <= full_count; at += 2) {
      const Entry first = list[at], second = list[at + 1];
      V factor[2][kTall];
#pragma unroll
      for (int k = 0; k < kTall; ++k) factor[0][k] = load(moved(in, first.across) + k * kMaskRows);
#pragma unroll
      for (int k = 0; k < kTall; ++k) factor[1][k] = load(moved(in, second.across) + k * kMaskRows);
#pragma unroll
      for (int k = 0; k < kTall; ++k) sum[k] += multiply(first.value, factor[0][k]);
#pragma unroll
      for (int k = 0; k < kTall; ++k) sum[k] += multiply(second.value, factor[1][k]);
    }
    if (at < full_count) {
      const Entry one = list[at];
#pragma unroll
      for (int k = 0; k < kTall; ++k) sum[k] += multiply(one.value, load(moved(in, one.across) + k * kMaskRows));
    }
#pragma unroll 1
    for (at = full_count; at < count; ++at) {
      const Entry one = list[at];
      const Masks rows = rows_of[at];
      V factor[kTall];
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (rows.of[k] & bit) factor[k] = load(moved(in, one.across) + k * kMaskRows);
      }
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (rows.of[k] & bit) sum[k] += multiply(one.value, factor[k]);
      }
    }
    __syncwarp();
  }
  others.add(m, block, lane, in, sum);
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (row + k * kMaskRows >= a.rows) return;
    T* const to = y.data + (row + k * kMaskRows) * y.row;
    if (update.plain) store_once(to, sum[k]);
    else update.one(to, sum[k]);
  }
}

constexpr int64 kTallRows =
    int64{1} << 22;  // rows from which `sum_tall` is faster; for complex sums four times as many

template <class U, class V>
void sum_palette(const Matrix& matrix, bool conj, const Dense& x, Scalar alpha, Scalar beta, const Dense& y) {
  using T = Product<U, V>;
  const auto others = resident_others(*matrix.structure);
  const auto count = static_cast<int>(others->host.size());
  const PaletteOperand<U> m{Mdia<U>::of(matrix), count, count > 0 ? others->host.front() : OtherDiagonal{},
                            others->list.template as<const OtherDiagonal>(), conj};
  const Update<T> update(alpha, beta);
  const bool tall = matrix.rows >= (sizeof(T) > 8 ? 4 : 1) * kTallRows;
  if (tall) {
    const int64 warps = ceil_div(m.a.blocks(), kTall);
    launch("mdia palette, four blocks", sum_tall<U, V>, dim3(static_cast<unsigned>(ceil_div(warps, kTallThreads / 32))),
           dim3(kTallThreads), m, x.as<const V>(), Block<T>(y), update);
  } else {
    launch("mdia palette", sum_bits<U, V>, dim3(static_cast<unsigned>(ceil_div(m.a.blocks(), 8))), dim3(256), m,
           x.as<const V>(), Block<T>(y), update);
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
