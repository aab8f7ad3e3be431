// What each row of A B of csr reaches, and so how its columns are found: by marking bits, or by sorting a list.
#pragma once

#include "device/launch.cuh"
#include "formats/csr.hpp"

namespace diagsparse::cuda::columns_of_product {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroup = 8;          // threads that take an entry of A: many rows of B are short
constexpr int kNarrow = 64;        // words that a warp marks at once; rows with more are a block's
constexpr int kTiny = 32;          // products of a row that half a warp sorts
constexpr int kFew = 256;          // of one that a warp sorts
constexpr int kMany = 1 << 13;     // of a row that a large block marks
constexpr int kManyEntries = 512;  // of a row of A, which all threads of a block look at

// What a row reaches: its first column and its last one, which is less where it has none; and its products, kMany if
// more.
struct Range {
  int low, high, products;

  __device__ int64 words() const { return high < low ? 0 : (high - static_cast<int64>(low)) / 32 + 1; }
};
enum class Kind { narrow, tiny, few, wide, heavy };
__device__ inline bool is_sorted(Kind kind) { return kind == Kind::tiny || kind == Kind::few; }
__device__ inline Kind kind_of(const Range& range) {
  if (range.products >= kMany) return Kind::heavy;
  if (range.words() <= kNarrow) return Kind::narrow;
  return range.products <= kTiny ? Kind::tiny : range.products <= kFew ? Kind::few : Kind::wide;
}

constexpr int kTotals =
    6;  // the numbers of Reach (marked_rows.cuh): words, products, and rows of each kind but the narrow ones

// What is found of a row, and of all rows of a block of threads.
struct Found {
  int low = 0x7fffffff, high = -1;
  unsigned long long products = 0;

  // Every `each`th entry of row i of A, from `first` on.
  __device__ void look_at(const Csr<float>& a, const Csr<float>& b, int64 i, int first, int each) {
    for (int64 e = a.indptr[i] + first; e < a.indptr[i + 1]; e += each) {
      const int64 begin = b.indptr[a.indices[e]], end = b.indptr[a.indices[e] + 1];
      if (begin == end) continue;
      low = min(low, b.indices[begin]);
      high = max(high, b.indices[end - 1]);
      products += end - begin;
    }
  }
};

// A group takes a row, and all threads together a row of many entries. few: the products of rows that are sorted.
__global__ void __launch_bounds__(kBlock)
    find_ranges(const Csr<float> a, const Csr<float> b, Range* ranges, std::int64_t* few, unsigned long long* totals) {
  constexpr int rows = kBlock / kGroup;
  __shared__ unsigned long long of_block[kTotals];
  __shared__ int long_rows[rows], long_count;
  __shared__ Found together;
  if (threadIdx.x < kTotals) of_block[threadIdx.x] = 0;
  if (threadIdx.x == 0) long_count = 0;
  __syncthreads();
  const auto end = [&](int64 i, const Found& found) {
    const Range range{found.low, found.high,
                      static_cast<int>(min(found.products, static_cast<unsigned long long>(kMany)))};
    ranges[i] = range;
    const Kind kind = kind_of(range);
    few[i] = is_sorted(kind) ? range.products : 0;
    atomicAdd(&of_block[1], found.products);
    if (kind != Kind::narrow) atomicAdd(&of_block[1 + static_cast<int>(kind)], 1ull);
    if (kind >= Kind::wide) atomicAdd(&of_block[0], static_cast<unsigned long long>(range.words()));
  };
  const int64 i = thread_index() / kGroup;
  const int lane = threadIdx.x % kGroup;
  const bool is_long = i < a.rows && a.indptr[i + 1] - a.indptr[i] > kManyEntries;
  Found found;
  if (i < a.rows && !is_long) found.look_at(a, b, i, lane, kGroup);
  __syncwarp();
  for (int step = 1; step < kGroup; step *= 2) {
    found.low = min(found.low, __shfl_xor_sync(kAllLanes, found.low, step));
    found.high = max(found.high, __shfl_xor_sync(kAllLanes, found.high, step));
    found.products += __shfl_xor_sync(kAllLanes, found.products, step);
  }
  if (lane == 0 && is_long) long_rows[atomicAdd(&long_count, 1)] = static_cast<int>(threadIdx.x) / kGroup;
  else if (lane == 0 && i < a.rows) end(i, found);
  __syncthreads();
  for (int r = 0; r < long_count; ++r) {
    const int64 row = static_cast<int64>(blockIdx.x) * rows + long_rows[r];
    if (threadIdx.x == 0) together = Found{};
    __syncthreads();
    Found mine;
    mine.look_at(a, b, row, threadIdx.x, kBlock);
    atomicMin(&together.low, mine.low);
    atomicMax(&together.high, mine.high);
    atomicAdd(&together.products, mine.products);
    __syncthreads();
    if (threadIdx.x == 0) end(row, together);
    __syncthreads();
  }
  if (threadIdx.x < kTotals && of_block[threadIdx.x] > 0) atomicAdd(totals + threadIdx.x, of_block[threadIdx.x]);
}

}  // namespace diagsparse::cuda::columns_of_product
