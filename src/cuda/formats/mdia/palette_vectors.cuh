// y = alpha op(A) x + beta y for a matrix with a palette, read in the order in which it is stored, and a vector whose
// elements are contiguous.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n.  y: m.
//
// Most diagonals have one value, so a mask is all that is read of them. There are two kernels for these diagonals:
//
// `sum_bits`: a warp processes a block of 32 rows. Each lane loads the mask of a diagonal. The warp transposes these 32
//     words, so that each lane has the diagonals of its row as bits, and processes those that are set.
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

// What a lane lists of a diagonal that has one value.
template <class W>
struct alignas(16) OneValue {
  std::int64_t across;  // from the row to the element of x, in bytes
  W value;
};

template <class U, class V>
__global__ void __launch_bounds__(256, 8)
    sum_bits(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, const Block<Product<U, V>> y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using One = OneValue<decltype(arithmetic(U{}))>;
  __shared__ One table[kStaged];
  __shared__ std::uint32_t single[2];
  const Mdia<U>& a = m.a;
  const int lane = threadIdx.x % 32;
  const int64 block = thread_index() / 32, row = kMaskRows * block + lane;
  const bool inside = block < a.blocks();
  const V* const in = x + row;
  OtherElements<1, U> first(a, m.first, inside && m.count > 0 ? block : a.blocks(), lane);
  T sum[1] = {};
  const int last = (m.diagonals - 1) / kStaged * kStaged;
  for (int base = last; base >= 0; base -= kStaged) {
    std::uint32_t word[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int rank = base + 32 * j + lane;
      word[j] = inside && rank < m.diagonals ? __ldcs(a.mask + block * a.diagonals + m.number(rank)) : 0;
    }
    if (base < last) __syncthreads();
    if (threadIdx.x < kStaged) {
      bool alone = false;
      const int rank = base + static_cast<int>(threadIdx.x);
      if (rank < m.diagonals) {
        const int d = m.number(rank);
        const Coding coding = a.codings[d];
        alone = coding.bits == 0;
        const std::int64_t across = a.offsets[d] * static_cast<std::int64_t>(sizeof(V));
        if (alone) table[threadIdx.x] = {across, m.value(a.values + coding.table)};
      }
      const std::uint32_t all = __ballot_sync(~0u, alone);
      if (lane == 0) single[threadIdx.x / 32] = all;
    }
    if (base == last && inside) first.load_values(a, m.first, m.count > 0 ? block : a.blocks(), lane, {});
    __syncthreads();
#pragma unroll
    for (int j = 1; j >= 0; --j) {
      if (base + 32 * j >= m.diagonals) continue;
      const One* const here = table + 32 * j;
      std::uint32_t left = transposed_bits(word[j], lane) & single[j];
#pragma unroll 1
      while (left != 0) {
        const int d = 31 - __clz(left);
        left ^= 1u << d;
        const One one = here[d];
        const V factor = load(moved(in, one.across));
        if (left != 0) {
          const int e = 31 - __clz(left);
          left ^= 1u << e;
          const One other = here[e];
          const V next = load(moved(in, other.across));
          sum[0] += multiply(one.value, factor);
          sum[0] += multiply(other.value, next);
        } else {
          sum[0] += multiply(one.value, factor);
        }
      }
    }
  }
  if (!inside) return;
  add_others(m, first, block, lane, in, sum);
  if (row >= a.rows) return;
  if (update.plain) store_once(y.data + row * y.row, sum[0]);
  else update.one(y.data + row * y.row, sum[0]);
}

// ---- Four blocks, lists of diagonals ----------------------------------------------------------------------------
constexpr int kTall = 4;
constexpr int kTallThreads = 128;

template <class U, class V>
__global__ void __launch_bounds__(kTallThreads, sizeof(Product<U, V>) > 8 ? 5 : 7)
    sum_tall(const __grid_constant__ PaletteOperand<U> m, const V* __restrict__ x, const Block<Product<U, V>> y,
             const __grid_constant__ Update<Product<U, V>> update) {
  using T = Product<U, V>;
  using One = OneValue<decltype(arithmetic(U{}))>;
  struct alignas(16) Masks {
    Mask of[kTall];
  };
  __shared__ One entries[kTallThreads / 32][kStaged];
  __shared__ Masks masks[kTallThreads / 32][kStaged];
  One* const list = entries[threadIdx.x / 32];
  Masks* const rows_of = masks[threadIdx.x / 32];
  const Mdia<U>& a = m.a;
  const int lane = threadIdx.x % 32;
  const Mask lower = below(lane), bit = Mask{1} << lane;
  const int64 block = thread_index() / 32 * kTall, row = kMaskRows * block + lane;
  if (block >= a.blocks()) return;
  const V* const in = x + row;
  OtherElements<kTall, U> first(a, m.first, m.count > 0 ? block : a.blocks(), lane);
  T sum[kTall] = {};
  const int last = (m.diagonals - 1) / kStaged * kStaged;
  for (int base = last; base >= 0; base -= kStaged) {
    Masks mine[2];
    Coding coding[2];
    std::int64_t offset[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int rank = base + 32 * j + lane, d = m.number(rank);
      const bool exists = rank < m.diagonals;
      coding[j] = exists ? a.codings[d] : Coding{0, 0, -1};
      offset[j] = exists ? a.offsets[d] : 0;
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        const bool stores = exists && block + k < a.blocks();
        mine[j].of[k] = stores ? __ldcs(a.mask + (block * a.diagonals + d) + k * a.diagonals) : 0;
      }
    }
    One one[2];
    bool full[2], part[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const bool alone = coding[j].bits == 0;
      if (alone) one[j] = {offset[j] * static_cast<std::int64_t>(sizeof(V)), m.value(a.values + coding[j].table)};
      Mask any = 0, all = kAllRows;
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
      if (full[j]) list[before_full] = one[j];
      if (part[j]) list[full_count + before_part] = one[j], rows_of[full_count + before_part] = mine[j];
    }
    if (base == last) first.load_values(a, m.first, m.count > 0 ? block : a.blocks(), lane, {});
    __syncwarp();
    int at = 0;
#pragma unroll 1
    for (; at + 2 <= full_count; at += 2) {
      const One one_value = list[at], other = list[at + 1];
      V factor[2][kTall];
#pragma unroll
      for (int k = 0; k < kTall; ++k) factor[0][k] = load(moved(in, one_value.across) + k * kMaskRows);
#pragma unroll
      for (int k = 0; k < kTall; ++k) factor[1][k] = load(moved(in, other.across) + k * kMaskRows);
#pragma unroll
      for (int k = 0; k < kTall; ++k) sum[k] += multiply(one_value.value, factor[0][k]);
#pragma unroll
      for (int k = 0; k < kTall; ++k) sum[k] += multiply(other.value, factor[1][k]);
    }
    if (at < full_count) {
      const One one_value = list[at];
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        sum[k] += multiply(one_value.value, load(moved(in, one_value.across) + k * kMaskRows));
      }
    }
#pragma unroll 1
    for (at = full_count; at < count; ++at) {
      const One one_value = list[at];
      const Masks rows = rows_of[at];
      V factor[kTall];
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (rows.of[k] & bit) factor[k] = load(moved(in, one_value.across) + k * kMaskRows);
      }
#pragma unroll
      for (int k = 0; k < kTall; ++k) {
        if (rows.of[k] & bit) sum[k] += multiply(one_value.value, factor[k]);
      }
    }
    __syncwarp();
  }
  add_others(m, first, block, lane, in, sum);
#pragma unroll
  for (int k = 0; k < kTall; ++k) {
    if (row + k * kMaskRows >= a.rows) return;
    T* const to = y.data + row * y.row + k * kMaskRows * y.row;
    if (update.plain) store_once(to, sum[k]);
    else update.one(to, sum[k]);
  }
}

constexpr int64 kTallRows = int64{1} << 17;  // rows from which `sum_tall` is faster; never for complex128

template <class U, class V>
void sum_palette(const Matrix& matrix, bool conj, const Dense& x, Scalar alpha, Scalar beta, const Dense& y) {
  using T = Product<U, V>;
  const auto others = resident_others(*matrix.structure);
  const auto count = static_cast<int>(others->host.size());
  const std::vector<int64>& offsets = offsets_of(*matrix.structure);
  const int64 above = std::ranges::lower_bound(offsets, 0) - offsets.begin();
  const auto diagonals = static_cast<int>(offsets.size());  // fewer than 2^27
  const int middle = std::min(static_cast<int>(above), diagonals - 1);
  const PaletteOperand<U> m{Mdia<U>::of(matrix),
                            diagonals,
                            middle,
                            count,
                            count > 0 ? others->host.front() : OtherDiagonal{},
                            others->list.template as<const OtherDiagonal>(),
                            conj};
  const Update<T> update(alpha, beta);

  if constexpr (sizeof(T) <= 8) {
    if (matrix.rows >= kTallRows) {
      const int64 warps = ceil_div(m.a.blocks(), kTall);
      const dim3 grid(static_cast<unsigned>(ceil_div(warps, kTallThreads / 32)));
      launch("mdia palette, four blocks", sum_tall<U, V>, grid, dim3(kTallThreads), m, x.as<const V>(), Block<T>(y),
             update);
      return;
    }
  }
  launch("mdia palette", sum_bits<U, V>, dim3(static_cast<unsigned>(ceil_div(m.a.blocks(), 8))), dim3(256), m,
         x.as<const V>(), Block<T>(y), update);
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
