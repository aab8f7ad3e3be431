// The columns of rows of A B that have few products, sorted in registers.
#pragma once

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "entries/row_ranges.cuh"

namespace diagsparse::cuda::columns_of_product {

static_assert(kHalfWarpSorts == 4 * 16 && kWarpSorts == 8 * 32, "what lanes hold at most");

// The lanes that sort a row together, half a warp or a warp.
template <int Lanes>
struct Sorter {
  static constexpr int kMost = Lanes == 32 ? kWarpSorts : kHalfWarpSorts;  // most products of a row

  int lane;
  unsigned mask;  // mask of these lanes in their warp

  __device__ Sorter() : lane(threadIdx.x % Lanes), mask(Lanes == 32 ? kAllLanes : 0xffffu << (threadIdx.x % 32 & 16)) {}

  template <class T>
  __device__ T from(T v, int other) const {
    return __shfl_sync(mask, v, other, Lanes);
  }
  __device__ int below(int v, int distance) const { return __shfl_up_sync(mask, v, distance, Lanes); }
  __device__ unsigned ballot(bool yes) const {
    return __ballot_sync(mask, yes) >> (Lanes == 32 ? 0 : threadIdx.x % 32 & 16);
  }

  // Sorts Lanes Items numbers; lane l holds those at l, l + Lanes, ... (bitonic sort).
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

  // Writes the distinct columns of a list in order; returns their number.
  template <int Items>
  __device__ int write_distinct(const int* list, int products, std::int32_t* col) const {
    constexpr int behind = 0x7fffffff;  // greater than every column
    int x[Items];
#pragma unroll
    for (int r = 0; r < Items; ++r) x[r] = Lanes * r + lane < products ? list[Lanes * r + lane] : behind;
    sort(x);
    int last = -1, count = 0;  // last column and count of the previous items
#pragma unroll
    for (int r = 0; r < Items; ++r) {
      const int before = below(x[r], 1);
      const bool selects = x[r] != behind && x[r] != (lane == 0 ? last : before);
      const unsigned selected = ballot(selects);
      if (selects) col[count + __popc(selected & ((1u << lane) - 1))] = x[r];
      count += __popc(selected);
      last = from(x[r], Lanes - 1);
    }
    return count;
  }
  __device__ int write_distinct(const int* list, int products, std::int32_t* col) const {
    if (products <= Lanes) return write_distinct<1>(list, products, col);
    if (products <= 2 * Lanes) return write_distinct<2>(list, products, col);
    if (products <= 4 * Lanes || Lanes < 32) return write_distinct<4>(list, products, col);
    return write_distinct<8>(list, products, col);
  }
};

// Rows with few products: the lanes gather their columns, sort them and write each distinct one once, from sorted +
// rooms[p] on.
template <int Lanes>
static __global__ void __launch_bounds__(kBlock, 6)
    sort_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, const std::int32_t* rows, int64 listed,
              const std::int64_t* rooms, std::int64_t* counts, std::int32_t* sorted) {
  using S = Sorter<Lanes>;
  __shared__ int lists[kBlock / Lanes][S::kMost + Lanes % 32];  // padded so that the lists of a warp begin in different
                                                                // banks
  const S lanes;
  int* const list = lists[threadIdx.x / Lanes];
  const int lane = lanes.lane, group = lane / kGroup;
  const int64 p = thread_index() / Lanes;
  if (p >= listed) return;
  const int64 i = rows[p], stop = a.indptr[i + 1];
  const int products = ranges[i].products;
  int filled = 0;
  for (int64 entry = a.indptr[i]; entry < stop; entry += Lanes) {
    const int here = static_cast<int>(min(static_cast<int64>(Lanes), stop - entry));
    // Each lane: where a row of B begins, its length, and the number of products before it.
    int64 begin = 0;
    int length = 0;
    if (lane < here) {
      const int64 k = a.indices[entry + lane];
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
  const int count = lanes.write_distinct(list, products, sorted + rooms[p]);
  if (lane == 0) counts[i + 1] = count;
}

// The same by a thread block (radix sort).
constexpr int kSortBlock = 128;
static_assert(kBlockSorts == 16 * kSortBlock, "what its threads hold at most");

struct BlockSorter {
  using Scan = cub::BlockScan<int, kSortBlock>;
  template <int Items>
  using Sort = cub::BlockRadixSort<unsigned, kSortBlock, Items>;
  union Shared {
    struct {
      int list[kBlockSorts], length[kSortBlock], before[kSortBlock];
      std::int64_t begin[kSortBlock];
    } gathered;
    typename Sort<4>::TempStorage of_4;
    typename Sort<8>::TempStorage of_8;
    typename Sort<16>::TempStorage of_16;
    struct {
      Scan::TempStorage scan;
      unsigned last[kSortBlock];
    } selected;
  };

  Shared& shared;
  int low, span;  // the first column, and the last one minus the first

  __device__ unsigned column(int p, int products) const {
    return p < products ? static_cast<unsigned>(shared.gathered.list[p] - low) : ~0u;  // greater than every column
  }

  // Writes the distinct columns of the list in order; returns their number.
  template <int Items>
  __device__ int write_distinct(int products, typename Sort<Items>::TempStorage& storage, std::int32_t* col) {
    const int t = static_cast<int>(threadIdx.x);
    unsigned x[Items];
#pragma unroll
    for (int r = 0; r < Items; ++r) x[r] = column(r * kSortBlock + t, products);
    __syncthreads();
    Sort<Items>(storage).Sort(x, 0, 32 - __clz(span + 1));  // all ones is greater than span
    __syncthreads();
    shared.selected.last[t] = x[Items - 1];
    __syncthreads();
    const auto selects = [&](int r) {
      const unsigned before = r > 0 ? x[r > 0 ? r - 1 : 0] : t > 0 ? shared.selected.last[t - 1] : ~0u;
      return x[r] != ~0u && x[r] != before;
    };
    int mine = 0, at, total;
#pragma unroll
    for (int r = 0; r < Items; ++r) mine += selects(r);
    Scan(shared.selected.scan).ExclusiveSum(mine, at, total);
#pragma unroll
    for (int r = 0; r < Items; ++r) {
      if (selects(r)) col[at++] = static_cast<std::int32_t>(x[r]) + low;
    }
    return total;
  }
};

static __global__ void __launch_bounds__(kSortBlock)
    sort_rows_by_blocks(const Csr<float> a, const Csr<float> b, const Range* ranges, const std::int32_t* rows, int64,
                        const std::int64_t* rooms, std::int64_t* counts, std::int32_t* sorted) {
  __shared__ BlockSorter::Shared shared;
  __shared__ BlockSorter::Scan::TempStorage scan;
  const int t = static_cast<int>(threadIdx.x);
  const int64 i = rows[blockIdx.x], stop = a.indptr[i + 1];
  const int products = ranges[i].products;
  auto& gathered = shared.gathered;
  int filled = 0;
  for (int64 entry = a.indptr[i]; entry < stop; entry += kSortBlock) {
    const int here = static_cast<int>(min(static_cast<int64>(kSortBlock), stop - entry));
    int64 begin = 0;
    int length = 0, before, all;
    if (t < here) {
      const int64 k = a.indices[entry + t];
      begin = b.indptr[k];
      length = static_cast<int>(b.indptr[k + 1] - begin);
    }
    BlockSorter::Scan(scan).ExclusiveSum(length, before, all);
    gathered.begin[t] = begin, gathered.length[t] = length, gathered.before[t] = filled + before;
    __syncthreads();
    for (int e = t / kGroup; e < here; e += kSortBlock / kGroup) {
      for (int f = t % kGroup; f < gathered.length[e]; f += kGroup) {
        gathered.list[gathered.before[e] + f] = b.indices[gathered.begin[e] + f];
      }
    }
    filled += all;
    __syncthreads();
  }
  BlockSorter sorter{shared, ranges[i].low, ranges[i].high - ranges[i].low};
  std::int32_t* const col = sorted + rooms[blockIdx.x];
  const int count = products <= 4 * kSortBlock   ? sorter.write_distinct<4>(products, shared.of_4, col)
                    : products <= 8 * kSortBlock ? sorter.write_distinct<8>(products, shared.of_8, col)
                                                 : sorter.write_distinct<16>(products, shared.of_16, col);
  if (t == 0) counts[i + 1] = count;
}

// A group of `lanes` threads copies the columns of a row to their final position.
static __global__ void __launch_bounds__(kBlock)
    copy_columns(const std::int32_t* rows, int64 listed, const std::int64_t* rooms, int lanes,
                 const std::int32_t* columns, const std::int64_t* counts, std::int32_t* col) {
  const int64 p = thread_index() / lanes;
  if (p >= listed) return;
  const std::int32_t* const from = columns + rooms[p];
  const int64 i = rows[p], to = counts[i], count = counts[i + 1] - to;
  for (int64 t = threadIdx.x % lanes; t < count; t += lanes) col[to + t] = from[t];
}

}  // namespace diagsparse::cuda::columns_of_product
