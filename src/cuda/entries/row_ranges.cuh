// The range of the columns of each row of A B of csr, and from it how the columns are determined: by marking bits, or
// by sorting a list.
#pragma once

#include "core/compressed_rows.hpp"
#include "device/launch.cuh"

namespace diagsparse::cuda::columns_of_product {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroup = 8;          // threads that examine a row together, because many rows are short
constexpr int kManyEntries = 512;  // entries of a row of A above which all threads of a block examine it

// How the columns of a row are determined: those of its products are sorted, by half a warp, a warp or a thread block;
// or bits are marked, by a warp, a block or a large block.
enum class Kind { half_warp_sorts, warp_sorts, block_sorts, warp_marks, block_marks, large_block_marks, none };
constexpr int kKinds = static_cast<int>(Kind::none);
constexpr int kHalfWarpSorts = 64, kWarpSorts = 256, kBlockSorts = 2048;  // most products
constexpr int kWarpMarks = 64, kBlockMarks = 4096;                        // most words of 32 columns
constexpr int kLargeBlockMarks = 48 << 10;                                // most words that are marked at once, if the
                                                                          // device has as much memory
constexpr int kMany = 1 << 13;  // products of a row from which a large block marks it

// The first column of a row and its last one, which is less if the row is empty; and the number of its products, which
// counts as kMany at least if its row of A has many entries.
struct Range {
  int low, high, products;

  __device__ int first() const { return low & ~31; }  // of the first word of 32 columns
  __device__ int64 words() const { return high < low ? 0 : high / 32 - low / 32 + 1; }
  // The most columns that the row can have.
  __device__ int64 most() const { return min(static_cast<int64>(products), 32 * words()); }
};

__device__ inline Kind kind_of(const Range& range) {
  if (range.products == 0) return Kind::none;
  if (range.products >= kMany) return Kind::large_block_marks;
  if (range.products <= kHalfWarpSorts) return Kind::half_warp_sorts;
  const int64 words = range.words();
  if (words <= kWarpMarks) return Kind::warp_marks;
  if (range.products <= kWarpSorts) return Kind::warp_sorts;
  if (range.products <= kBlockSorts && words > 2 * range.products) return Kind::block_sorts;
  return words <= kBlockMarks ? Kind::block_marks : Kind::large_block_marks;
}

// Totals of all rows.
struct Totals {
  unsigned long long words, products;             // words of rows that blocks mark; products of all rows
  unsigned long long rows[kKinds], most[kKinds];  // rows of each kind, and the most columns that they can have
};

// Sums over the lanes of a warp; lane 0 adds the sum to `to`.
__device__ inline void add_up(unsigned long long value, unsigned long long* to) {
  if (__ballot_sync(kAllLanes, value != 0) == 0) return;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  if (threadIdx.x % 32 == 0) atomicAdd(to, value);
}

// The range and the products of a row.
struct Found {
  int low = 0x7fffffff, high = -1;
  unsigned long long products = 0;

  // Examines every `each`-th entry of row i of A, from `first` on.
  __device__ void examine(const Csr<float>& a, const Csr<float>& b, int64 i, int first, int each) {
    constexpr int ahead = 4;
    const int64 stop = a.indptr[i + 1];
    for (int64 e = a.indptr[i] + first; e < stop; e += ahead * each) {
      int64 begin[ahead]{}, end[ahead]{};
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        if (e + u * each >= stop) continue;
        const std::int32_t k = a.indices[e + u * each];
        begin[u] = b.indptr[k], end[u] = b.indptr[k + 1];
      }
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        if (begin[u] == end[u]) continue;
        low = min(low, b.indices[begin[u]]);
        high = max(high, b.indices[end[u] - 1]);
        products += end[u] - begin[u];
      }
    }
  }
};

// A group processes a row; rows with many entries are processed by all threads together.
static __global__ void __launch_bounds__(kBlock)
    find_ranges(const Csr<float> a, const Csr<float> b, Range* ranges, Totals* totals) {
  constexpr int rows = kBlock / kGroup;
  __shared__ Totals of_block;
  __shared__ int long_rows[rows], long_count;
  __shared__ Found combined;
  if (threadIdx.x == 0) of_block = Totals{}, long_count = 0;
  __syncthreads();
  // Records the range of a row, which only the lane with `mine` has; all lanes of a warp call it. Rows of A with many
  // entries are left to a large block.
  const auto end = [&](int64 i, const Found& found, bool mine, unsigned long long many) {
    const auto products = min(max(found.products, many), 0x7fffffffull);
    const Range range{found.low, found.high, found.products > 0 ? static_cast<int>(products) : 0};
    const Kind kind = mine ? kind_of(range) : Kind::none;
    if (mine) ranges[i] = range;
    add_up(mine ? found.products : 0, &of_block.products);
    add_up(kind == Kind::block_marks || kind == Kind::large_block_marks ? range.words() : 0, &of_block.words);
    for (int k = 0; k < kKinds; ++k) {
      const unsigned these = __ballot_sync(kAllLanes, kind == static_cast<Kind>(k));
      if (these != 0 && threadIdx.x % 32 == 0) atomicAdd(&of_block.rows[k], __popc(these));
      add_up(kind == static_cast<Kind>(k) ? range.most() : 0, &of_block.most[k]);
    }
  };
  const int64 i = thread_index() / kGroup;
  const int lane = threadIdx.x % kGroup;
  const bool is_long = i < a.rows && a.indptr[i + 1] - a.indptr[i] > kManyEntries;
  Found found;
  if (i < a.rows && !is_long) found.examine(a, b, i, lane, kGroup);
  __syncwarp();
  for (int step = 1; step < kGroup; step *= 2) {
    found.low = min(found.low, __shfl_xor_sync(kAllLanes, found.low, step));
    found.high = max(found.high, __shfl_xor_sync(kAllLanes, found.high, step));
    found.products += __shfl_xor_sync(kAllLanes, found.products, step);
  }
  if (lane == 0 && is_long) long_rows[atomicAdd(&long_count, 1)] = static_cast<int>(threadIdx.x) / kGroup;
  end(i, found, lane == 0 && i < a.rows && !is_long, 0);
  __syncthreads();
  for (int r = 0; r < long_count; ++r) {
    const int64 row = static_cast<int64>(blockIdx.x) * rows + long_rows[r];
    if (threadIdx.x == 0) combined = Found{};
    __syncthreads();
    Found mine;
    mine.examine(a, b, row, threadIdx.x, kBlock);
    atomicMin(&combined.low, mine.low);
    atomicMax(&combined.high, mine.high);
    atomicAdd(&combined.products, mine.products);
    __syncthreads();
    if (threadIdx.x < 32) end(row, combined, threadIdx.x == 0, kMany);
    __syncthreads();
  }
  constexpr int count = sizeof(Totals) / sizeof(unsigned long long);
  const auto* const mine = reinterpret_cast<const unsigned long long*>(&of_block);
  if (threadIdx.x < count && mine[threadIdx.x] > 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(totals) + threadIdx.x, mine[threadIdx.x]);
  }
}

// A number for each kind.
struct OfKinds {
  int of[kKinds];
};

// How many rows of each kind are listed so far, and how much room they have.
struct Cursors {
  unsigned long long room;
  int rows[kKinds];
};

// Lists the rows by kind; those of a kind begin at begin.of[kind]. Rows of a block stay in order. The order of blocks
// varies from run to run, which has no effect on the result. rooms: where the room for the columns of each listed row
// begins, for the kinds up to `last`.
static __global__ void __launch_bounds__(kBlock)
    list_rows(int64 rows, const Range* ranges, const __grid_constant__ OfKinds begin, Kind last, Cursors* cursors,
              std::int32_t* list, std::int64_t* rooms) {
  constexpr int warps = kBlock / 32;
  __shared__ int of_warp[kKinds][warps], first[kKinds];
  __shared__ int64 room_of_warp[warps], first_room;
  const int64 i = thread_index();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Range range = i < rows ? ranges[i] : Range{0, -1, 0};
  const Kind kind = kind_of(range);
  unsigned peers = 0;  // the lanes of this kind
  for (int k = 0; k < kKinds; ++k) {
    const unsigned these = __ballot_sync(kAllLanes, kind == static_cast<Kind>(k));
    if (kind == static_cast<Kind>(k)) peers = these;
    if (lane == 0) of_warp[k][warp] = __popc(these);
  }
  const int64 most = kind <= last ? range.most() : 0;
  int64 up_to = most;  // room of the lanes up to this one
  for (int step = 1; step < 32; step *= 2) {
    const int64 below = __shfl_up_sync(kAllLanes, up_to, step);
    if (lane >= step) up_to += below;
  }
  if (lane == 31) room_of_warp[warp] = up_to;
  __syncthreads();
  if (threadIdx.x == kKinds) {
    int64 sum = 0;
    for (int64& room : room_of_warp) {
      const int64 before = sum;
      sum += room, room = before;
    }
    first_room = static_cast<int64>(atomicAdd(&cursors->room, static_cast<unsigned long long>(sum)));
  }
  if (threadIdx.x < kKinds) {
    int sum = 0;
    for (int& count : of_warp[threadIdx.x]) {
      const int before = sum;
      sum += count, count = before;
    }
    first[threadIdx.x] = begin.of[threadIdx.x] + (sum > 0 ? atomicAdd(&cursors->rows[threadIdx.x], sum) : 0);
  }
  __syncthreads();
  if (kind == Kind::none) return;
  const int k = static_cast<int>(kind);
  const int64 at = static_cast<int64>(first[k]) + of_warp[k][warp] + __popc(peers & ((1u << lane) - 1));
  list[at] = static_cast<std::int32_t>(i);
  if (kind <= last) rooms[at] = first_room + room_of_warp[warp] + up_to - most;
}

}  // namespace diagsparse::cuda::columns_of_product
