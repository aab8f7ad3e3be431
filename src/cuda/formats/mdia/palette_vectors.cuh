// y = alpha op(A) x + beta y for a matrix with a palette, read in the order in which it is stored, and vectors whose
// elements are contiguous. All diagonals but one have a single value, so a mask is all that is read of them.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n.  y: m.
//
// There are two kernels:
//
// `sum_bits`: a warp processes a block of 32 rows. Each lane loads the mask of a diagonal. The warp transposes these 32
//     words, so that each lane has the diagonals of its row as bits, and processes those that are set.
// `sum_tall`: a warp processes four blocks. Each lane loads the four masks of a diagonal. Diagonals that have all of
//     these rows are listed apart, because they need no masks; then each lane processes four rows, 32 apart.
//
// The second kernel executes fewer instructions, but has fewer warps.
#pragma once

#include "device/dense.cuh"
#include "formats/mdia/palette_operand.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kStaged = 64;  // diagonals that are examined together, two per lane

// What is listed of a diagonal that has one value.
template <class W>
struct alignas(16) OneValue {
  std::int64_t across;  // from the row to the element of x, in bytes
  W value;
};

// ---- One block, the diagonals of a row as bits ------------------------------------------------------------------
// One step: exchanges bits with the lane that is `step` further or less.
template <int step>
__device__ inline std::uint32_t exchanged(std::uint32_t word, int lane) {
  const std::uint32_t other = __shfl_xor_sync(~0u, word, step);
  if constexpr (step == 16) return __byte_perm(word, other, lane & 16 ? 0x3276 : 0x5410);
  else if constexpr (step == 8) return __byte_perm(word, other, lane & 8 ? 0x3715 : 0x6240);
  else {
    constexpr std::uint32_t low = ~0u / ((1u << step) + 1);  // every other group of `step` bits
    return lane & step ? (word & ~low) | (other >> step & low) : (word & low) | (other << step & ~low);
  }
}
// Lane i gets bit i of the words of all lanes.
__device__ inline std::uint32_t transposed_bits(std::uint32_t word, int lane) {
  word = exchanged<8>(exchanged<16>(word, lane), lane);
  return exchanged<1>(exchanged<2>(exchanged<4>(word, lane), lane), lane);
}

constexpr int kBitsThreads = 256;

template <class U, class V>
__global__ void __launch_bounds__(kBitsThreads, sizeof(Product<U, V>) > 8 ? 8 : 6)
    sum_bits(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, Product<U, V>* __restrict__ y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using One = OneValue<decltype(arithmetic(U{}))>;
  __shared__ One table[kStaged];
  __shared__ std::uint32_t single[2];
  const std::uint32_t lane = threadIdx.x % 32, row = blockIdx.x * kBitsThreads + threadIdx.x;
  const bool inside = row / 32 < m.blocks;
  const RowBlocks<1> block{inside ? row / 32 : 0, 1};
  const V* const in = x + row;
  const Mask* const mask = m.masks(block.first);
  OtherElements<1, U> other(m, block, lane);
  std::uint32_t word[2];
  PaletteDiagonal d;
  const auto examine = [&](std::uint32_t base) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t rank = base + 32 * j + lane;
      word[j] = 0;
      if (inside && rank < m.diagonals) word[j] = __ldcs(mask + m.order.number(rank));
    }
    if (threadIdx.x < kStaged && base + threadIdx.x < m.diagonals) d = m.diagonal[base + threadIdx.x];
  };
  examine(0);
  // This element of x may be that of a row without an element on the other diagonal.
  V factor{};
  if (static_cast<std::uint64_t>(row + m.other_offset) < m.cols) factor = load(in + m.other_offset);
  other.load_values(m, block, lane);
  T sum{};
  for (std::uint32_t base = 0;;) {
    if (threadIdx.x < kStaged) {
      const bool alone = base + threadIdx.x < m.diagonals && d.single >= 0;
      const std::uint32_t all = __ballot_sync(~0u, alone);
      if (lane == 0) single[threadIdx.x / 32] = all;
      if (alone) table[threadIdx.x] = {d.offset * static_cast<std::int64_t>(sizeof(V)), m.value(m.values + d.single)};
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (base + 32 * j < m.diagonals) word[j] = transposed_bits(word[j], lane);
    }
    if (base == 0 && inside && other.has(0)) add_product(sum, other.value(m, 0), factor);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const One* const here = table + 32 * j;
      std::uint32_t left = word[j] & single[j];
#pragma unroll 1
      while (left != 0) {
        const int d = 31 - __clz(left);
        left ^= 1u << d;
        const One one = here[d];
        const V factor = load(moved(in, one.across));
        if (left != 0) {
          const int e = 31 - __clz(left);
          left ^= 1u << e;
          const One second = here[e];
          const V next = load(moved(in, second.across));
          add_product(sum, one.value, factor);
          add_product(sum, second.value, next);
        } else {
          add_product(sum, one.value, factor);
        }
      }
    }
    base += kStaged;
    if (base >= m.diagonals) break;
    examine(base);
    __syncthreads();
  }
  if (row >= m.rows) return;
  if (update.plain) store_once(y + row, sum);
  else update.one(y + row, sum);
}

// ---- Four blocks, lists of diagonals ----------------------------------------------------------------------------
constexpr int kTall = 4;
constexpr int kTallThreads = 128;

template <class W>
struct OneValueInFour {
  OneValue<W> one;
  Mask rows[kTall];
};

template <class U, class V>
__global__ void __launch_bounds__(kTallThreads, sizeof(Product<U, V>) > 8 ? 5 : 8)
    sum_tall(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, Product<U, V>* __restrict__ y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using W = decltype(arithmetic(U{}));
  using Listed = OneValueInFour<W>;
  __shared__ Listed lists[kTallThreads / 32][kStaged];
  Listed* const list = lists[threadIdx.x / 32];
  const std::uint32_t lane = threadIdx.x % 32;
  const Mask lower = below(lane), bit = Mask{1} << lane;
  const std::uint32_t warp = blockIdx.x * (kTallThreads / 32) + threadIdx.x / 32;
  const std::uint32_t row = kTall * 32 * warp + lane;
  const int left = static_cast<int>(m.blocks - kTall * warp);
  if (left <= 0) return;
  const RowBlocks<kTall> blocks{kTall * warp, left < kTall ? left : kTall};
  const V* const in = x + row;
  const Mask* const mask = m.masks(blocks.first);
  OtherElements<kTall, U> other(m, blocks, lane);
  T sum[kTall] = {};
  Mask mine[2][kTall];
  PaletteDiagonal d[2];
  const auto examine = [&](std::uint32_t base) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t rank = base + 32 * j + lane;
      const std::uint32_t known = rank < m.diagonals ? rank : m.diagonals - 1;
      d[j] = m.diagonal[known];
      const Mask* const from = mask + m.order.number(known);
      if (rank >= m.diagonals) d[j].single = -1;
#pragma unroll
      for (int k = 0; k < kTall; ++k) mine[j][k] = __ldcs(blocks.at(from, k, m.diagonals));
    }
  };
  examine(0);
  other.load_values(m, blocks, lane);
  for (std::uint32_t base = 0;;) {
    Listed one[2];
    bool full[2], part[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const bool alone = d[j].single >= 0;
      one[j].one.across = d[j].offset * static_cast<std::int64_t>(sizeof(V));
      one[j].one.value = m.value(m.values + (alone ? d[j].single : 0));
      blocks.clear_outside(mine[j]);
      Mask any = 0, all = kAllRows;
#pragma unroll
      for (int k = 0; k < kTall; ++k) any |= mine[j][k], all &= mine[j][k], one[j].rows[k] = mine[j][k];
      full[j] = alone && all == kAllRows;
      part[j] = alone && any != 0 && all != kAllRows;
    }
    const std::uint32_t full_0 = __ballot_sync(~0u, full[0]), full_1 = __ballot_sync(~0u, full[1]);
    const std::uint32_t part_0 = __ballot_sync(~0u, part[0]), part_1 = __ballot_sync(~0u, part[1]);
    const int full_count = __popc(full_0) + __popc(full_1), count = full_count + __popc(part_0) + __popc(part_1);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int before_full = (j ? __popc(full_0) : 0) + __popc((j ? full_1 : full_0) & lower);
      const int before_part = full_count + (j ? __popc(part_0) : 0) + __popc((j ? part_1 : part_0) & lower);
      if (full[j] || part[j]) list[full[j] ? before_full : before_part] = one[j];
    }
    __syncwarp();
    int at = 0;
#pragma unroll 1
    for (; at + 2 <= full_count; at += 2) {
      const OneValue<W> two[2] = {list[at].one, list[at + 1].one};
      V factor[2][kTall];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int k = 0; k < kTall; ++k) factor[i][k] = load(moved(in, two[i].across) + k * kMaskRows);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int k = 0; k < kTall; ++k) add_product(sum[k], two[i].value, factor[i][k]);
      }
    }
    if (at < full_count) {
      const OneValue<W> last = list[at].one;
#pragma unroll
      for (int k = 0; k < kTall; ++k) add_product(sum[k], last.value, load(moved(in, last.across) + k * kMaskRows));
    }
#pragma unroll 1
    for (at = full_count; at < count; ++at) {
      const Listed next = list[at];
      V factor[kTall];
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (next.rows[k] & bit) factor[k] = load(moved(in, next.one.across) + k * kMaskRows);
      }
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (next.rows[k] & bit) add_product(sum[k], next.one.value, factor[k]);
      }
    }
    base += kStaged;
    if (base >= m.diagonals) break;
    examine(base);
    __syncwarp();
  }
  const V* const from = in + m.other_offset;
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (other.has(k)) add_product(sum[k], other.value(m, k), load(from + k * kMaskRows));
  }
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (row + k * 32 >= m.rows) return;
    if (update.plain) store_once(y + row + k * 32, sum[k]);
    else update.one(y + row + k * 32, sum[k]);
  }
}

// Rows from which `sum_tall` is faster.
template <class T>
constexpr int64 kTallRows = sizeof(T) > 8 ? int64{1} << 23 : int64{1} << 17;

template <class U, class V>
void sum_palette(const Matrix& matrix, bool conj, const Dense& x, Scalar alpha, Scalar beta, const Dense& y) {
  using T = Product<U, V>;
  const auto palette = resident_palette(*matrix.structure);
  const std::vector<int64>& offsets = offsets_of(*matrix.structure);
  const auto a = Mdia<U>::of(matrix);
  const auto number = [](int64 count) { return static_cast<std::uint32_t>(count); };
  const PaletteOperand<U> m{a.mask,
                            a.values,
                            a.codes,
                            a.begin,
                            palette->list.template as<const PaletteDiagonal>(),
                            palette->order,
                            number(a.rows),
                            number(a.cols),
                            number(a.blocks()),
                            number(a.diagonals),
                            number(a.words),
                            palette->other,
                            palette->other < 0 ? 0 : offsets[palette->other],
                            palette->coding,
                            conj};
  const Update<T> update(alpha, beta);
  if (matrix.rows >= kTallRows<T>) {
    const int64 warps = ceil_div(a.blocks(), kTall);
    launch("mdia palette, four blocks", sum_tall<U, V>, dim3(number(ceil_div(warps, kTallThreads / 32))),
           dim3(kTallThreads), m, x.as<const V>(), y.as<T>(), update);
  } else {
    launch("mdia palette", sum_bits<U, V>, dim3(number(ceil_div(a.rows, kBitsThreads))), dim3(kBitsThreads), m,
           x.as<const V>(), y.as<T>(), update);
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
