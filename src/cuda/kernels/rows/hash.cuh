// Sums of rows of C = A B of csr in a hash table in shared memory (hash.cu).
#pragma once

#include "core/compressed_rows.hpp"
#include "device/bisection.cuh"
#include "device/values.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda::rows {

constexpr int kFewestSlots = 32, kSizes = 7, kMostSlots = kFewestSlots << (kSizes - 1);
constexpr int kThreadsOfSegments = 128;          // of a block
constexpr int kPerSegment = 512;                 // entries of a segment of a long row
constexpr int kSegmentBits = 22, kSizeBits = 3;  // fields of a segment's key below its row: n < 2^31 has fewer segments

static_assert(kSizes < 1 << kSizeBits && static_cast<int64>(kPerSegment) << kSegmentBits >= int64{1} << 31);

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

// The words of 32 columns from the first column to the last.
__host__ __device__ inline int64 words_between(std::int32_t least, std::int32_t most) {
  return (static_cast<int64>(most) - least) / 32 + 1;
}

// Whether a table of this many slots has room for a row: if it has two slots per entry, so that searches are short; or
// if the entries are ranked, because there is a slot for each entry, and two for each word.
__host__ __device__ inline bool can_rank(int slots, int64 words) { return 2 * words <= slots; }
__host__ __device__ inline bool fits(int slots, int64 entries, int64 words) {
  return 2 * entries <= slots || (entries <= slots && can_rank(slots, words));
}

// The size of a table in slots.
__host__ __device__ inline int table_slots(int slots, int lanes) { return slots + lanes % 32; }

// Where the search for a column's slot begins, before the mask of the table is applied.
__device__ inline int home(std::int32_t column, unsigned multiplier) {
  return static_cast<int>(column * multiplier >> 16);
}

// The columns among 32 neighbours that a row has, as bits, and the number of its columns before them.
struct Word {
  unsigned bits;
  int before;
};

// A table of sums, addressed by column. The slot of a column is
//   its distance from the first one, if the row reaches over no more columns than there are slots;
//   otherwise its rank in the row, if there is room for a Word for each 32 columns that the row reaches over;
//   otherwise found by hashing.
template <class T>
struct Slots {
  enum class By { distance, rank, hash };

  T* sums;
  std::int32_t* keys;
  Word* words;  // in the place of the keys
  int mask;
  unsigned multiplier;
  By by;
  std::int32_t base;

  __device__ int start(std::int32_t column) const { return home(column, multiplier) & mask; }
  __device__ int at(std::int32_t column) const {
    const unsigned distance = column - base;
    if (by == By::rank) {
      const Word word = words[distance / 32];
      return word.before + __popc(word.bits & ((1u << distance % 32) - 1));
    }
    if (by == By::distance) return static_cast<int>(distance);
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
        words(reinterpret_cast<Word*>(keys)),
        mask(slots - 1),
        multiplier(multiplier),
        by(s.most - s.least < slots                          ? By::distance
           : can_rank(slots, words_between(s.least, s.most)) ? By::rank
                                                             : By::hash),
        base(s.least) {
    const int used = by == By::rank ? static_cast<int>(s.end - s.begin) : slots;
    for (int at = s.lane; at < used; at += s.lanes) sums[at] = T{};
    if (by == By::rank) {
      const int count = static_cast<int>(words_between(s.least, s.most));
      for (int w = s.lane; w < count; w += s.lanes) words[w] = {0, 0};
      __syncwarp(s.mine);
      for (int64 e = s.begin + s.lane; e < s.end; e += s.lanes) {
        const unsigned distance = indices[e] - base, before = e == s.begin ? ~0u : indices[e - 1] - base;
        atomicOr(&words[distance / 32].bits, 1u << distance % 32);
        if (before / 32 != distance / 32) {
          words[distance / 32].before = static_cast<int>(e - s.begin);
        }
      }
    } else if (by == By::hash) {
      for (int at = s.lane; at < slots; at += s.lanes) keys[at] = -1;
      __syncwarp(s.mine);
      for (int64 e = s.begin + s.lane; e < s.end; e += s.lanes) {
        const std::int32_t column = indices[e];
        for (int at = start(column); atomicCAS(keys + at, -1, column) != -1;) at = (at + 1) & mask;
      }
    }
    __syncwarp(s.mine);
  }
};

// sum += left right with the roundings of "terms": real products are rounded together with the sum. In a complex one,
// the compiler would round either product of the imaginary part first.
template <class U, class V, class T>
__device__ void add_product(T& sum, const U& left, const V& right) {
  if constexpr (is_complex<U> && is_complex<V>) {
    const T l = convert<T>(left), r = convert<T>(right);
    sum += T{fma(l.re, r.re, -(l.im * r.im)), fma(l.im, r.re, l.re * r.im)};
  } else {
    sum += multiply(left, right);
  }
}

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
    column = __ldg(b.indices + at);
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
    if (now.at < now.stop) add_product(table.sums[table.at(now.column)], now.left, now.right);
    for (int64 f = now.at + s.lanes; f < now.stop; f += s.lanes) {
      add_product(table.sums[table.at(__ldg(b.indices + f))], now.left, load(b.values + f));
    }
    __syncwarp(s.mine);
  }
}

// The value, but the compiler does not know. So it cannot compute and round a product before the loop in which it is
// added.
template <class T>
__device__ T opaque(T value) {
  static_assert(sizeof(T) % sizeof(unsigned) == 0);
  unsigned words[sizeof(T) / sizeof(unsigned)];
  __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned& word : words) asm volatile("" : "+r"(word));
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

// The same by a warp for the columns of a part of a row, in which the rows of B have few entries each. The products
// are numbered row by row of B, and each lane adds the next one:
//
//     entries of A          7       9   12
//     columns in B        3 5 6   3 6   5
//     lane                0 1 2   3 4   5
//     turn                0 0 0   1 1   1
//
// Lanes with products of the same column take turns, so each sum is added in the order of A's entries.
template <class U, class V, class T>
__device__ void add_in_turns(const Csr<U>& a, const Csr<V>& b, int64 e, int64 from, int64 to, const Segment& s,
                             const Slots<T>& table) {
  from = bisect(from, to, [&](int64 f) { return b.indices[f] < s.least; });
  to = bisect(from, to, [&](int64 f) { return b.indices[f] <= s.most; });
  const int length = static_cast<int>(to - from);
  int up_to = length;  // products of the lanes up to this one
  for (int step = 1; step < 32; step *= 2) {
    const int below = __shfl_up_sync(~0u, up_to, step);
    if (s.lane >= step) up_to += below;
  }
  const int64 origin = from - (up_to - length);  // product p of this lane's row of B is entry origin + p
  const int total = __shfl_sync(~0u, up_to, 31);
  for (int first = 0; first < total; first += 32) {
    const int p = first + s.lane;
    int t = 0;  // the lane whose row of B has product p
    for (int step = 16; step > 0; step /= 2) {
      if (__shfl_sync(~0u, up_to, t + step - 1) <= p) t += step;
    }
    const int64 f = __shfl_sync(~0u, origin, t) + p;
    U left{};
    V right{};
    int slot = -1 - s.lane;
    if (p < total) {
      slot = table.at(__ldg(b.indices + f));
      left = load(a.values + e + t), right = load(b.values + f);
    }
    const int turn = __popc(__match_any_sync(~0u, slot) & ((1u << s.lane) - 1));
    for (int now = 0; __any_sync(~0u, slot >= 0 && turn >= now); ++now) {
      if (slot >= 0 && turn == now) add_product(table.sums[slot], opaque(left), right);
      __syncwarp();
    }
  }
}

template <class T>
__device__ void write(const Segment& s, const Slots<T>& table, const std::int32_t* indices, T* c,
                      const Update<T>& update) {
  for (int64 e = s.begin + s.lane; e < s.end; e += s.lanes) update.one(c + e, table.sums[table.at(indices[e])]);
}

// Segments of one size: the keys from `first` to `end`, for blocks from first_block on. Each block computes `groups` of
// them, and each group of `lanes` threads one, in a table of `slots`.
struct SizeClass {
  int64 first, end, first_block;
  int lanes, groups, slots;
  bool complete;  // these are complete rows
};
struct SizeClasses {
  SizeClass of[kSizes + 1];
  int count = 0;
};

template <class U, class V>
__global__ void __launch_bounds__(kThreadsOfSegments)
    multiply_segments(const Csr<U> a, const Csr<V> b, const int64* indptr, const std::int32_t* indices,
                      Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update, unsigned multiplier,
                      const Key* segments, const __grid_constant__ SizeClasses classes) {
  extern __shared__ double2 shared[];
  int k = 0;
  while (k + 1 < classes.count && blockIdx.x >= classes.of[k + 1].first_block) ++k;
  const SizeClass& size = classes.of[k];
  const int lanes = size.lanes, group = threadIdx.x / lanes;
  const int64 p = size.first + (blockIdx.x - size.first_block) * size.groups + group;
  if (group >= size.groups || p >= size.end) return;
  const Key segment = segments[p] >> kSizeBits;
  const int64 i = static_cast<int64>(segment >> kSegmentBits), number = segment & ((1 << kSegmentBits) - 1);
  const bool complete = size.complete;
  const int64 begin = indptr[i] + number * kPerSegment;
  const int64 end = complete ? indptr[i + 1] : min(indptr[i + 1], begin + kPerSegment);
  const Segment s(i, begin, end, indices, lanes);
  const Slots<Product<U, V>> table(shared, size.groups, group, size.slots, multiplier, s, indices);
  const int64 last = a.indptr[i + 1];
  for (int64 e = a.indptr[i]; e < last; e += lanes) {
    // Each thread reads where the row of B begins and ends for one of the next entries of A.
    int64 from = 0, to = 0;
    if (e + s.lane < last) {
      const std::int32_t row = a.indices[e + s.lane];
      from = b.indptr[row], to = b.indptr[row + 1];
    }
    if (complete) add_rows(a, b, e, from, to, s, table);
    else add_in_turns(a, b, e, from, to, s, table);
  }
  write(s, table, indices, c, update);
}

}  // namespace diagsparse::cuda::rows
