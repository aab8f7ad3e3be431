// A stage of kernel "staged" (staged.cu) in shared memory: how a block copies it, and adds its pairs.
#pragma once

#include <utility>

#include "device/fetch.cuh"
#include "device/values.cuh"
#include "kernels/matmul/stages.hpp"

namespace diagsparse::cuda::matmul {

// Rows per thread and per block.
template <class T>
constexpr int kThreadRows = sizeof(T) == 4 ? 8 : 4;
template <class T>
constexpr int kRows = 32 * kThreadRows<T>;

// A diagonal of an operand: values[base + i] is in row i, first <= i < last.
struct Stored {
  std::int64_t base, first, last, offset;
};

// The lists of a plan (staged.cu).
struct Lists {
  const Sum* sums;
  const std::uint32_t* pairs;
  const Tile* tiles;
  const Stage* stages;
  const Stored *a, *b;
  const std::int32_t* above;  // for each diagonal of C: its offset minus that of the first diagonal of its tile
};

// The sum from the stored pairs only.
template <class T>
__device__ T stored_sum(const Lists& lists, const Sum& sum, int64 i, const T* a, const T* b) {
  T total{};
  for (int64 t = sum.terms; t < sum.terms_end; ++t) {
    const Stored left = lists.a[lists.pairs[t] >> 16], right = lists.b[lists.pairs[t] & 0xffff];
    const int64 k = i + left.offset;
    if (i < left.first || i >= left.last || k < right.first || k >= right.last) continue;
    total += load(a + left.base + i) * load(b + right.base + k);
  }
  return total;
}

// What a block holds of a stage in shared memory: the address of each diagonal's rows, 0 if no row is stored.
struct Positions {
  std::uint32_t a[kMostInStage], b[kMostInStage];
};

// Reads the value at this offset from an address in shared memory. (With a pointer, a pair needs six more
// instructions.)
template <int Bytes>
__device__ void load_shared(double& value, std::uint32_t address) {
  asm volatile("ld.shared.f64 %0, [%1 + %2];" : "=d"(value) : "r"(address), "n"(Bytes));
}
template <int Bytes>
__device__ void load_shared(float& value, std::uint32_t address) {
  asm volatile("ld.shared.f32 %0, [%1 + %2];" : "=f"(value) : "r"(address), "n"(Bytes));
}

// totals[r] += left[32 r] right[32 r]. All reads are issued before the first result is used.
template <class T, int... Row>
__device__ void add_pair(T (&totals)[sizeof...(Row)], std::uint32_t left, std::uint32_t right,
                         std::integer_sequence<int, Row...>) {
  T lefts[sizeof...(Row)], rights[sizeof...(Row)];
  (load_shared<32 * Row* static_cast<int>(sizeof(T))>(lefts[Row], left), ...);
  (load_shared<32 * Row* static_cast<int>(sizeof(T))>(rights[Row], right), ...);
  ((totals[Row] += lefts[Row] * rights[Row]), ...);
}

// Starts the copies of a stage; all threads take part.
template <class T>
__device__ void start_stage(Copies& copies, Positions& positions, char* shared, const Lists& lists, const Tile& tile,
                            const Stage& stage, int64 i0, const Source<T>& a, const Source<T>& b) {
  constexpr int item = sizeof(T), rows = kRows<T>;
  const int a_stride = stage_stride(rows, item), b_stride = stage_stride(rows + tile.span, item);
  const int of_a = stage.a_end - stage.a, all = of_a + stage.b_end - stage.b;
  for (int l0 = 0; l0 < all; l0 += blockDim.x) {
    const int l = l0 + across_warps();
    Copy copy{};
    bool left = false;  // whether the complete warp has to copy it
    if (l < all) {
      const bool is_a = l < of_a;
      const Stored diagonal = is_a ? lists.a[stage.a + l] : lists.b[stage.b + l - of_a];
      const T* values = is_a ? a.values : b.values;
      const int64 size = is_a ? a.size : b.size;
      const int64 row = is_a ? i0 : i0 + tile.low - diagonal.offset;
      const int count = is_a ? rows : rows + tile.span;
      const auto within = [&](int64 x) { return static_cast<int>(min(max(x - row, int64(0)), int64(count))); };
      const auto bytes = [](const T* p) { return reinterpret_cast<const char*>(p); };
      const char* from = bytes(values + diagonal.base + row);
      const int position =
          (is_a ? l * a_stride : of_a * a_stride + (l - of_a) * b_stride) + since_border(from, kSector);
      copy = {from, bytes(values), bytes(values + size),   shared + position,
              item, count,         within(diagonal.first), within(diagonal.last),
              count};
      (is_a ? positions.a[l] : positions.b[l - of_a]) = copy.stored() ? shared_address(shared + position) : 0;
      left = copy.stored() && !copies.start(copy);
    }
    for (unsigned todo = __ballot_sync(~0u, left); todo != 0; todo &= todo - 1) {
      start_by_warp(copy_of_lane(copy, __ffs(todo) - 1), 0);
    }
  }
  copies.started();
}

}  // namespace diagsparse::cuda::matmul
