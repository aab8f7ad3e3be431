// Kernel `sum_bits` for palettes: a warp processes a block of 32 rows. Each lane loads the mask of a diagonal. The warp
// transposes these 32 words, so that each lane has the diagonals of its row as bits, and processes those that are set.
// If diagonals have two values, the words that say which of them are transposed as well.
#pragma once

#include "device/dense.cuh"
#include "formats/mdia/palette_operand.cuh"

namespace diagsparse::cuda::mdia {

namespace {

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

// With one value, or with two.
template <class W, bool Two>
struct FewValues {
  OneValue<W> one;

  __device__ W value(bool) const { return one.value; }
};
template <class W>
struct FewValues<W, true> {
  OneValue<W> one;
  W other;

  __device__ W value(bool second) const { return second ? other : one.value; }
};

// Thread blocks per multiprocessor, by which the compiler limits registers.
template <bool Two, class U, class T>
constexpr int kBitsBlocks = sizeof(U) > 8           ? 5
                            : Two || sizeof(T) <= 8 ? 6
                                                    : 8;

template <bool Two, class U, class V, class Output>
__global__ void __launch_bounds__(kBitsThreads, kBitsBlocks<Two, U, Product<U, V>>)
    sum_bits(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x,
             const __grid_constant__ Output output) {
  using T = Product<U, V>;
  using Values = FewValues<decltype(arithmetic(U{})), Two>;
  __shared__ Values table[kStaged];
  __shared__ std::uint32_t single[2];
  const std::uint32_t lane = threadIdx.x % 32, row = blockIdx.x * kBitsThreads + threadIdx.x;
  const bool inside = row / 32 < m.blocks;
  const RowBlocks<1> block{inside ? row / 32 : 0, 1};
  const V* const in = x + row;
  const Mask* const mask = m.masks(block.first);
  OtherElements<1, U> other(m, block, lane);
  std::uint32_t word[2], second[2] = {};  // the masks, and the codes of diagonals that have two values
  PaletteDiagonal d;
  const auto examine = [&](std::uint32_t base) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const std::uint32_t rank = base + 32 * j + lane;
      word[j] = 0;
      if (!inside || rank >= m.diagonals) continue;
      word[j] = __ldcs(mask + m.order.number(rank));
      if constexpr (Two) {
        const std::int32_t at = load(&m.diagonal[rank].word);
        second[j] = at >= 0 ? __ldcs(m.codes + std::uint64_t{block.first} * m.words + at) : 0;
      }
    }
    if (threadIdx.x < kStaged && base + threadIdx.x < m.diagonals) d = m.diagonal[base + threadIdx.x];
  };
  examine(0);
  // This element of x may be that of a row without an element on the other diagonal.
  V factor{};
  if (static_cast<std::uint64_t>(row + m.other.offset) < m.cols) factor = load(in + m.other.offset);
  other.load_values(m, block, lane);
  T sum{};
  for (std::uint32_t base = 0;;) {
    if (threadIdx.x < kStaged) {
      const bool alone = base + threadIdx.x < m.diagonals && d.table >= 0 && (Two || d.word < 0);
      const std::uint32_t all = __ballot_sync(~0u, alone);
      if (lane == 0) single[threadIdx.x / 32] = all;
      if (alone) {
        table[threadIdx.x].one = {d.offset * static_cast<std::int64_t>(sizeof(V)), m.value(m.values + d.table)};
        if constexpr (Two) table[threadIdx.x].other = m.value(m.values + d.table + (d.word >= 0));
      }
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      if (base + 32 * j < m.diagonals) {
        word[j] = transposed_bits(word[j], lane);
        if constexpr (Two) second[j] = transposed_bits(second[j], lane);
      }
    }
    if (base == 0 && inside && other.has(0)) add_product(sum, other.value(m, 0), factor);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const Values* const here = table + 32 * j;
      std::uint32_t left = word[j] & single[j];
#pragma unroll 1
      while (left != 0) {
        const int d = 31 - __clz(left);
        left ^= 1u << d;
        const Values one = here[d];
        const V factor = load(moved(in, one.one.across));
        if (left != 0) {
          const int e = 31 - __clz(left);
          left ^= 1u << e;
          const Values next = here[e];
          const V other_factor = load(moved(in, next.one.across));
          add_product(sum, one.value(second[j] >> d & 1), factor);
          add_product(sum, next.value(second[j] >> e & 1), other_factor);
        } else {
          add_product(sum, one.value(second[j] >> d & 1), factor);
        }
      }
    }
    base += kStaged;
    if (base >= m.diagonals) break;
    examine(base);
    __syncthreads();
  }
  if (row < m.rows) output.write(row, sum);
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
