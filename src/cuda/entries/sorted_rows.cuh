// The columns of rows of A B that have few products, sorted in registers.
#pragma once

#include "entries/row_ranges.cuh"

namespace diagsparse::cuda::columns_of_product {

// The lanes that sort a row together, half a warp or a warp.
template <int Lanes>
struct Sorter {
  static constexpr int kMost = Lanes == 32 ? kFew : kTiny;  // products

  int lane;
  unsigned mask;  // of the lanes in their warp

  __device__ Sorter() : lane(threadIdx.x % Lanes), mask(Lanes == 32 ? kAllLanes : 0xffffu << (threadIdx.x % 32 & 16)) {}

  __device__ static bool takes(const Range& range) { return kind_of(range) == (Lanes == 32 ? Kind::few : Kind::tiny); }
  template <class T>
  __device__ T from(T v, int other) const {
    return __shfl_sync(mask, v, other, Lanes);
  }
  __device__ int below(int v, int distance) const { return __shfl_up_sync(mask, v, distance, Lanes); }
  __device__ unsigned those(bool yes) const {
    return __ballot_sync(mask, yes) >> (Lanes == 32 ? 0 : threadIdx.x % 32 & 16);
  }

  // Sorts Lanes Items numbers, of which lane l has those at l, l + Lanes, ... (bitonic).
  template <int Items>
  __device__ void sort(int (&x)[Items]) const {
#pragma unroll
    for (int run = 2; run <= Lanes * Items; run *= 2) {
#pragma unroll
      for (int apart = run / 2; apart > 0; apart /= 2) {
#pragma unroll
        for (int r = 0; r < Items; ++r) {
          const bool up = ((Lanes * r + lane) & run) == 0;
          if (apart < Lanes) {
            const int other = __shfl_xor_sync(mask, x[r], apart, Lanes);
            x[r] = up == ((lane & apart) == 0) ? min(x[r], other) : max(x[r], other);
          } else if (const int s = r ^ apart / Lanes; s > r) {
            const int low = min(x[r], x[s]), high = max(x[r], x[s]);
            x[r] = up ? low : high, x[s] = up ? high : low;
          }
        }
      }
    }
  }

  // Writes the distinct columns of a list in order; returns how many there are.
  template <int Items>
  __device__ int take_distinct(const int* list, int products, std::int32_t* col) const {
    constexpr int behind = 0x7fffffff;  // every column
    int x[Items];
#pragma unroll
    for (int r = 0; r < Items; ++r) x[r] = Lanes * r + lane < products ? list[Lanes * r + lane] : behind;
    sort(x);
    int last = -1, count = 0;  // of those before
#pragma unroll
    for (int r = 0; r < Items; ++r) {
      const int before = below(x[r], 1);
      const bool takes = x[r] != behind && x[r] != (lane == 0 ? last : before);
      const unsigned taken = those(takes);
      if (takes) col[count + __popc(taken & ((1u << lane) - 1))] = x[r];
      count += __popc(taken);
      last = from(x[r], Lanes - 1);
    }
    return count;
  }
  __device__ int take_distinct(const int* list, int products, std::int32_t* col) const {
    if (products <= Lanes) return take_distinct<1>(list, products, col);
    if (products <= 2 * Lanes || Lanes < 32) return take_distinct<2>(list, products, col);
    if (products <= 4 * Lanes) return take_distinct<4>(list, products, col);
    return take_distinct<8>(list, products, col);
  }
};

// Rows of few products: the lanes put their columns side by side, sort them and take each once, into room for all
// products of the row, which ends at ends[i].
template <int Lanes>
__global__ void __launch_bounds__(kBlock)
    sort_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, const std::int64_t* ends,
              std::int64_t* counts, std::int32_t* sorted) {
  using S = Sorter<Lanes>;
  __shared__ int lists[kBlock / Lanes][S::kMost];
  const S lanes;
  int* const list = lists[threadIdx.x / Lanes];
  const int lane = lanes.lane, group = lane / kGroup;
  const int64 i = thread_index() / Lanes;
  if (i >= a.rows || !S::takes(ranges[i])) return;
  const int products = ranges[i].products;
  int filled = 0;
  for (int64 first = a.indptr[i]; first < a.indptr[i + 1]; first += Lanes) {
    const int here = static_cast<int>(min(static_cast<int64>(Lanes), a.indptr[i + 1] - first));
    // Each lane: where a row of B begins, its length, and how many products come before it.
    int64 begin = 0;
    int length = 0;
    if (lane < here) {
      const int64 k = a.indices[first + lane];
      begin = b.indptr[k];
      length = static_cast<int>(b.indptr[k + 1] - begin);
    }
    int before = length;
    for (int step = 1; step < Lanes; step *= 2) {
      const int below = lanes.below(before, step);
      if (lane >= step) before += below;
    }
    const int all = lanes.from(before, Lanes - 1);
    before += filled - length;
    for (int e = 0; e < here; e += Lanes / kGroup) {
      const int64 from = lanes.from(begin, e + group);
      const int count = lanes.from(length, e + group), to = lanes.from(before, e + group);
      for (int t = lane % kGroup; t < count; t += kGroup) list[to + t] = b.indices[from + t];
    }
    filled += all;
  }
  __syncwarp(lanes.mask);
  const int count = lanes.take_distinct(list, products, sorted + (ends[i] - products));
  if (lane == 0) counts[i + 1] = count;
}

// A group writes them where they belong.
__global__ void __launch_bounds__(kBlock)
    copy_sorted(int64 rows, const Range* ranges, const std::int64_t* ends, const std::int32_t* sorted,
                const std::int64_t* counts, std::int32_t* col) {
  const int64 i = thread_index() / kGroup;
  if (i >= rows || !is_sorted(kind_of(ranges[i]))) return;
  const std::int32_t* const from = sorted + (ends[i] - ranges[i].products);
  const int64 to = counts[i], count = counts[i + 1] - to;
  for (int t = threadIdx.x % kGroup; t < count; t += kGroup) col[to + t] = from[t];
}

}  // namespace diagsparse::cuda::columns_of_product
