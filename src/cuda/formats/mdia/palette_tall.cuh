// Kernel `sum_tall` for palettes: a warp processes four blocks of 32 rows. Each lane loads the four masks of a
// diagonal. Diagonals that have all of these rows are listed apart, because they need no masks; then each lane
// processes four rows, 32 apart. This takes fewer instructions per row than `sum_bits`, but has fewer warps.
#pragma once

#include "device/dense.cuh"
#include "formats/mdia/palette_operand.cuh"

namespace diagsparse::cuda::mdia {

namespace {

constexpr int kTall = 4;
constexpr int kTallThreads = 128;

template <class W>
struct OneValueInFour {
  OneValue<W> one;
  Mask rows[kTall];
};

template <class U, class V, class Output>
__global__ void __launch_bounds__(kTallThreads, sizeof(Product<U, V>) > 8 ? 5 : 8)
    sum_tall(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x,
             const __grid_constant__ Output output) {
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
      if (rank >= m.diagonals) d[j].table = -1;
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
      const bool alone = d[j].table >= 0 && d[j].word < 0;
      one[j].one.across = d[j].offset * static_cast<std::int64_t>(sizeof(V));
      one[j].one.value = m.value(m.values + (alone ? d[j].table : 0));
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
  const V* const from = in + m.other.offset;
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (other.has(k)) add_product(sum[k], other.value(m, k), load(from + k * kMaskRows));
  }
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (row + k * 32 < m.rows) output.write(row + k * 32, sum[k]);
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
