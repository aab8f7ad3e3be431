// Sums of rows of C = A B of csr in a hash table in shared memory (hash.cu).
#pragma once

#include "core/compressed_rows.hpp"
#include "device/bisection.cuh"
#include "device/values.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda::rows {

// There are twice as many slots as entries, so that searches are short.
constexpr int kFewestSlots = 32, kSizes = 7, kMostSlots = kFewestSlots << (kSizes - 1), kMostEntries = kMostSlots / 2;
constexpr int kWarps = kBlock / 32, kPerWarp = 128,
              kPerBlock = kWarps * kPerWarp;     // entries of a segment of a long row
constexpr int kSegmentBits = 22, kSizeBits = 3;  // fields of a segment's key below its row: n < 2^31 has fewer segments

static_assert(kSizes < 1 << kSizeBits && static_cast<int64>(kPerBlock) << kSegmentBits >= int64{1} << 31);

__host__ __device__ inline Key segment_key(int64 row, int64 segment_number, int size) {
  return static_cast<Key>((row << kSegmentBits | segment_number) << kSizeBits | size);
}

// Some entries of a row of C, and the threads that compute them: all of a warp, or a part of it.
struct Segment {
  int64 row, begin, end;
  int lane, lanes;
  unsigned mine;             // these threads in their warp
  std::int32_t least, most;  // first and last column

  __device__ Segment(int64 i, int64 first, int64 last, const std::int32_t* indices, int threads)
      : row(i),
        begin(first),
        end(last),
        lane(threadIdx.x & (threads - 1)),
        lanes(threads),
        mine((threads == 32 ? ~0u : (1u << threads) - 1) << (threadIdx.x % 32 & ~(threads - 1))),
        least(indices[first]),
        most(indices[last - 1]) {}
};

// The size of a table in slots.
__host__ __device__ inline int table_slots(int slots, int lanes) { return slots + lanes % 32; }

// Where the search for a column's slot begins, before the mask of the table is applied.
__device__ inline int home(std::int32_t column, unsigned multiplier) {
  return static_cast<int>(column * multiplier >> 16);
}

// A table of sums, addressed by column.
template <class T>
struct Slots {
  T* sums;
  std::int32_t* keys;
  int mask;
  unsigned multiplier;
  bool direct;  // the slot is column - base
  std::int32_t base;

  __device__ int start(std::int32_t column) const { return home(column, multiplier) & mask; }
  __device__ int at(std::int32_t column) const {
    if (direct) return column - base;
    int s = start(column);
    while (keys[s] != column) s = (s + 1) & mask;
    return s;
  }

  // Uses table `which` of `tables` in shared memory for the columns of a segment. Tables of a warp begin in different
  // banks.
  __device__ Slots(void* shared, int tables, int which, int slots, unsigned multiplier, const Segment& s,
                   const std::int32_t* indices)
      : sums(static_cast<T*>(shared) + static_cast<int64>(which) * table_slots(slots, s.lanes)),
        keys(reinterpret_cast<std::int32_t*>(static_cast<T*>(shared) +
                                             static_cast<int64>(tables) * table_slots(slots, s.lanes)) +
             static_cast<int64>(which) * table_slots(slots, s.lanes)),
        mask(slots - 1),
        multiplier(multiplier),
        direct(s.most - s.least < slots),
        base(s.least) {
    for (int at = s.lane; at < slots; at += s.lanes) {
      sums[at] = T{};
      keys[at] = -1;
    }
    __syncwarp(s.mine);
    if (direct) return;
    for (int64 e = s.begin + s.lane; e < s.end; e += s.lanes) {
      const std::int32_t column = indices[e];
      for (int at = start(column); atomicCAS(keys + at, -1, column) != -1;) at = (at + 1) & mask;
    }
    __syncwarp(s.mine);
  }
};

// An entry of A, and this thread's first entry of the range [at, stop) of the corresponding row of B.
template <class U, class V>
struct Entry {
  int64 at, stop;
  std::int32_t column;
  U left;
  V right;

  // That of lane t of the segment.
  __device__ void fetch(const Csr<U>& a, const Csr<V>& b, int64 e, int64 from, int64 to, int t, const Segment& s) {
    at = __shfl_sync(s.mine, from, t, s.lanes) + s.lane;
    stop = __shfl_sync(s.mine, to, t, s.lanes);
    left = load(a.values + e + t);
    if (at >= stop) return;
    column = b.indices[at];
    right = load(b.values + at);
  }
};

// Adds the products of entries e, e + 1, ... of A with rows of B. Lane t has the range [from, to) of the row of B for
// entry e + t. The rows of B are processed one after the other; the first entries of the next row are prefetched.
template <class U, class V, class T>
__device__ void add_rows(const Csr<U>& a, const Csr<V>& b, int64 e, int64 from, int64 to, const Segment& s,
                         const Slots<T>& table) {
  unsigned todo = __ballot_sync(s.mine, from < to) >> (threadIdx.x % 32 & ~(s.lanes - 1));
  Entry<U, V> next;
  if (todo != 0) next.fetch(a, b, e, from, to, __ffs(todo) - 1, s);
  while (todo != 0) {
    const Entry<U, V> now = next;
    todo &= todo - 1;
    if (todo != 0) next.fetch(a, b, e, from, to, __ffs(todo) - 1, s);
    if (now.at < now.stop) table.sums[table.at(now.column)] += multiply(now.left, now.right);
    for (int64 f = now.at + s.lanes; f < now.stop; f += s.lanes) {
      table.sums[table.at(b.indices[f])] += multiply(now.left, load(b.values + f));
    }
    __syncwarp(s.mine);
  }
}

// Restricts the range [from, to) of a row of B to these columns.
template <class V>
__device__ void narrow(const Csr<V>& b, int64& from, int64& to, std::int32_t least, std::int32_t most) {
  from = bisect(from, to, [&](int64 f) { return b.indices[f] < least; });
  to = bisect(from, to, [&](int64 f) { return b.indices[f] <= most; });
}

template <class T>
__device__ void write(const Segment& s, const Slots<T>& table, const std::int32_t* indices, T* c,
                      const Update<T>& update) {
  for (int64 e = s.begin + s.lane; e < s.end; e += s.lanes) update.one(c + e, table.sums[table.at(indices[e])]);
}

// Complete rows, each computed by `lanes` threads.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_complete_rows(const Csr<U> a, const Csr<V> b, const int64* indptr, const std::int32_t* indices,
                           Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update, unsigned multiplier,
                           const Key* segments, int64 count, int lanes, int slots) {
  extern __shared__ double2 shared[];
  const int group = threadIdx.x / lanes, groups = blockDim.x / lanes;
  const int64 p = static_cast<int64>(blockIdx.x) * groups + group;
  if (p >= count) return;
  const int64 i = static_cast<int64>(segments[p] >> (kSizeBits + kSegmentBits));
  const Segment s(i, indptr[i], indptr[i + 1], indices, lanes);
  const Slots<Product<U, V>> table(shared, groups, group, slots, multiplier, s, indices);
  const int64 last = a.indptr[i + 1];
  for (int64 e = a.indptr[i]; e < last; e += lanes) {
    // Each thread reads where the row of B begins and ends for one of the next entries of A.
    int64 from = 0, to = 0;
    if (e + s.lane < last) {
      const std::int32_t k = a.indices[e + s.lane];
      from = b.indptr[k], to = b.indptr[k + 1];
    }
    add_rows(a, b, e, from, to, s, table);
  }
  write(s, table, indices, c, update);
}

// Segments of long rows, one per block, and a part of its entries per warp. The threads find the entries of B whose
// columns are in the segment, each for one entry of A. Then each warp adds those in its part.
template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_rows_in_parts(const Csr<U> a, const Csr<V> b, const int64* indptr, const std::int32_t* indices,
                           Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update, unsigned multiplier,
                           const Key* segments) {
  extern __shared__ double2 shared[];
  __shared__ int64 begins[kBlock];
  __shared__ std::int32_t counts[kBlock];
  const Key segment = segments[blockIdx.x] >> kSizeBits;
  const int64 i = static_cast<int64>(segment >> kSegmentBits), segment_number = segment & ((1 << kSegmentBits) - 1);
  const int64 begin = indptr[i] + segment_number * kPerBlock, end = min(indptr[i + 1], begin + kPerBlock);
  const int warp = threadIdx.x / 32, each = static_cast<int>((end - begin + kWarps - 1) / kWarps);
  const std::int32_t least = indices[begin], most = indices[end - 1];
  // A warp without a part is assigned the last entry, too, and writes nothing.
  const int64 first = min(begin + warp * each, end - 1), stop = max(first + 1, min(first + each, end));
  const bool idle = begin + warp * each >= end;
  const Segment s(i, first, stop, indices, 32);
  const Slots<Product<U, V>> table(shared, kWarps, warp, 2 * kPerWarp, multiplier, s, indices);
  const int64 last = a.indptr[i + 1];
  for (int64 e = a.indptr[i]; e < last; e += kBlock) {
    int64 from = 0, to = 0;
    if (e + threadIdx.x < last) {
      const std::int32_t k = a.indices[e + threadIdx.x];
      from = b.indptr[k], to = b.indptr[k + 1];
      narrow(b, from, to, least, most);
    }
    begins[threadIdx.x] = from, counts[threadIdx.x] = static_cast<std::int32_t>(to - from);
    __syncthreads();
    const int here = static_cast<int>(min(static_cast<int64>(kBlock), last - e));
    for (int t = 0; !idle && t < here; t += 32) {
      from = begins[t + s.lane], to = from + counts[t + s.lane];
      if (from < to) narrow(b, from, to, s.least, s.most);
      add_rows(a, b, e + t, from, to, s, table);
    }
    __syncthreads();
  }
  if (!idle) write(s, table, indices, c, update);
}

}  // namespace diagsparse::cuda::rows
