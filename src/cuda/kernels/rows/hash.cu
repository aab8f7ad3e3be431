// C = alpha A B + beta C of csr by rows, sums in shared memory: "hash".
//
//   A: m x l, B: l x n, C: m x n, whose structure (indptr, indices) the plan has: row i of C is the sum of A[i, k]
//   times row k of B.
//
// A stretch is a row of C, or kMostEntries of its entries where there are more. Some threads of a warp take a stretch:
//
//     indices of C     2   3   7  11            the stretch's columns
//     keys          .  7   .   2  11   .   3    each in a slot that its number leads to, or in the next free one
//     sums          .  0   .   0   0   .   0    its sum, in the same slot
//
// They walk k in order and share out row k of B, whose columns are distinct, so that no two of them meet in a slot; at
// the end they write the stretch, once, in order. Where the columns of a stretch lie so close together that each could
// have a slot of its own, as in a band, the slot is the column's distance from the first. Of a row of several
// stretches, each takes the part of row k between its columns, found by bisection. No atomics on values: the same bits
// on every run.
//
// The plan keeps the stretches in order of the slots that they need; all of one size run at once, with as much shared
// memory as it takes. More threads take a stretch where rows of B are longer.
#include "device/bisection.cuh"
#include "device/resident.cuh"
#include "device/values.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/csr.hpp"
#include "kernels/row_kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

// Slots are twice the entries, so that few of them are tried.
constexpr int kFewestSlots = 64, kSizes = 6, kMostSlots = kFewestSlots << (kSizes - 1), kMostEntries = kMostSlots / 2;
constexpr int kShared = 48 << 10;               // bytes a block: what any GPU gives
constexpr int kStripeBits = 22, kSizeBits = 3;  // of a stretch's key, below its row: n < 2^31 has fewer stripes

// Stretches, the small ones first: (row << kStripeBits | stripe) << kSizeBits | size.
struct ResidentStretches {
  Array keys;
  int64 first[kSizes + 1] = {};  // those of each size

  template <class F>
  void visit(const F& f) const {
    f(keys);
  }
};

__device__ int size_of(int64 entries) {
  int size = 0;
  while (size < kSizes - 1 && kFewestSlots << size < 2 * entries) ++size;
  return size;
}

__global__ void __launch_bounds__(kBlock) count_stretches(const int64* indptr, int64 rows, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i < rows) counts[i] = (indptr[i + 1] - indptr[i] + kMostEntries - 1) / kMostEntries;
}

__global__ void __launch_bounds__(kBlock)
    list_stretches(const int64* indptr, int64 rows, const std::int64_t* ends, Key* keys) {
  const int64 i = thread_index();
  if (i >= rows) return;
  const int64 before = i == 0 ? 0 : ends[i - 1], entries = indptr[i + 1] - indptr[i];
  for (int64 s = 0; s < ends[i] - before; ++s) {
    const int size = size_of(min(entries - s * kMostEntries, static_cast<int64>(kMostEntries)));
    keys[before + s] = static_cast<Key>((i << kStripeBits | s) << kSizeBits | size);
  }
}

__global__ void find_sizes(const Key* keys, int64 count, std::int64_t* first) {
  const Key mask = (1 << kSizeBits) - 1;
  first[threadIdx.x] = bisect(0, count, [&](int64 p) { return (keys[p] & mask) < threadIdx.x; });
}

std::shared_ptr<ResidentStretches> stretches_of(const Plan& plan) {
  return keep<ResidentStretches>(plan.kept, "stretches", [&] {
    const auto made = std::make_shared<ResidentStretches>();
    const auto* indptr = static_cast<const Indices&>(*plan.c).at("indptr").as<const int64>();
    const Scratch<std::int64_t> ends(plan.rows), first(kSizes + 1);
    launch("count stretches", count_stretches, blocks(plan.rows), dim3(kBlock), indptr, plan.rows, ends.get());
    const int64 count = inclusive_sum(ends.get(), ends.get(), plan.rows);
    std::shared_ptr<void> keys = allocate(8 * count);
    launch("list stretches", list_stretches, blocks(plan.rows), dim3(kBlock), indptr, plan.rows, ends.get(),
           static_cast<Key*>(keys.get()));
    sort_keys(keys, count, kSizeBits);  // stable: rows of one size stay in order
    launch("find sizes", find_sizes, dim3(1), dim3(kSizes + 1), static_cast<const Key*>(keys.get()), count,
           first.get());
    const auto borders = download(first.get(), kSizes + 1);
    std::copy(borders.begin(), borders.end(), made->first);
    made->keys.data = keys.get();
    made->keys.owner = keys;
    made->keys.dtype = DType::u64;
    made->keys.shape.rows = count;
    made->keys.device = current_device();
    return made;
  });
}

// Where the sum of a column is, for the threads of one stretch.
template <class T>
struct Slots {
  T* sums;
  std::int32_t* keys;
  int mask;
  bool close;  // each column has a slot of its own
  std::int32_t base;

  __device__ int start(std::int32_t column) const { return static_cast<int>(column * 0x9e3779b1u >> 16) & mask; }
  __device__ int at(std::int32_t column) const {
    if (close) return column - base;
    int s = start(column);
    while (keys[s] != column) s = (s + 1) & mask;
    return s;
  }
  __device__ void add(std::int32_t column) const {
    for (int s = start(column); atomicCAS(keys + s, -1, column) != -1;) s = (s + 1) & mask;
  }
};

// An entry of A, and a thread's first one in the part [at, stop) of a row of B that it meets.
template <class U, class V>
struct Entry {
  int64 at, stop;
  std::int32_t column;
  U left;
  V right;

  // That of lane t of `mine`.
  __device__ void fetch(const Csr<U>& a, const Csr<V>& b, int64 e, int64 from, int64 to, int t, int lane, int lanes,
                        unsigned mine) {
    at = __shfl_sync(mine, from, t, lanes) + lane;
    stop = __shfl_sync(mine, to, t, lanes);
    left = load(a.values + e + t);
    if (at >= stop) return;
    column = b.indices[at];
    right = load(b.values + at);
  }
};

template <class U, class V>
__global__ void __launch_bounds__(kBlock)
    multiply_stretches(const Csr<U> a, const Csr<V> b, const int64* indptr, const std::int32_t* indices,
                       Product<U, V>* c, const __grid_constant__ Update<Product<U, V>> update, const Key* stretches,
                       int64 count, int lanes, int slots) {
  using T = Product<U, V>;
  extern __shared__ double2 shared[];
  const int group = threadIdx.x / lanes, lane = threadIdx.x & (lanes - 1), groups = blockDim.x / lanes;
  const unsigned mine = (lanes == 32 ? ~0u : (1u << lanes) - 1) << (threadIdx.x % 32 & ~(lanes - 1));
  const int64 p = static_cast<int64>(blockIdx.x) * groups + group;
  if (p >= count) return;
  const Key stretch = stretches[p] >> kSizeBits;
  const int64 i = static_cast<int64>(stretch >> kStripeBits), stripe = stretch & ((1 << kStripeBits) - 1);
  const int64 begin = indptr[i] + stripe * kMostEntries;
  const int64 end = min(indptr[i + 1], begin + kMostEntries);
  const bool whole = indptr[i + 1] - indptr[i] <= kMostEntries;
  const std::int32_t least = indices[begin], most = indices[end - 1];

  T* sums = reinterpret_cast<T*>(shared) + static_cast<int64>(group) * slots;
  std::int32_t* keys =
      reinterpret_cast<std::int32_t*>(reinterpret_cast<T*>(shared) + static_cast<int64>(groups) * slots);
  const Slots<T> table{sums, keys + static_cast<int64>(group) * slots, slots - 1, most - least < slots, least};
  for (int s = lane; s < slots; s += lanes) {
    table.sums[s] = T{};
    table.keys[s] = -1;
  }
  __syncwarp(mine);
  if (!table.close) {
    for (int64 e = begin + lane; e < end; e += lanes) table.add(indices[e]);
    __syncwarp(mine);
  }

  const int64 last = a.indptr[i + 1];
  for (int64 e = a.indptr[i]; e < last; e += lanes) {
    // A thread finds where the row of B begins and ends, for one of the next entries of A.
    int64 from = 0, to = 0;
    if (e + lane < last) {
      const std::int32_t k = a.indices[e + lane];
      from = b.indptr[k], to = b.indptr[k + 1];
      if (!whole) {
        from = bisect(from, to, [&](int64 f) { return b.indices[f] < least; });
        to = bisect(from, to, [&](int64 f) { return b.indices[f] <= most; });
      }
    }
    // The rows of B that have something here, in turn; an entry of the next one is under way while one is added.
    unsigned todo = __ballot_sync(mine, from < to) >> (threadIdx.x % 32 & ~(lanes - 1));
    Entry<U, V> next;
    if (todo != 0) next.fetch(a, b, e, from, to, __ffs(todo) - 1, lane, lanes, mine);
    while (todo != 0) {
      const Entry<U, V> now = next;
      todo &= todo - 1;
      if (todo != 0) next.fetch(a, b, e, from, to, __ffs(todo) - 1, lane, lanes, mine);
      if (now.at < now.stop) table.sums[table.at(now.column)] += multiply(now.left, now.right);
      for (int64 f = now.at + lanes; f < now.stop; f += lanes) {
        table.sums[table.at(b.indices[f])] += multiply(now.left, load(b.values + f));
      }
      __syncwarp(mine);
    }
  }

  for (int64 e = begin + lane; e < end; e += lanes) update.one(c + e, table.sums[table.at(indices[e])]);
}

// As many threads as the mean row of B keeps busy, and more where a stretch takes much memory.
int lanes_for(int64 mean, int slots) {
  const int lanes = mean <= 4 ? 4 : mean <= 8 ? 8 : mean <= 24 ? 16 : 32;
  return std::max(lanes, std::min(32, slots / 16));
}

template <class U, class V>
struct Hash {
  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    using T = Product<U, V>;
    const Array &indptr = c.index("indptr"), &indices = c.index("indices");
    used_on_this_stream(indptr);
    used_on_this_stream(indices);
    const std::shared_ptr<ResidentStretches> stretches = stretches_of(plan);
    const int64 mean = right.values.size() / std::max<int64>(right.rows, 1);
    for (int size = 0; size < kSizes; ++size) {
      const int64 first = stretches->first[size], count = stretches->first[size + 1] - first;
      const int slots = kFewestSlots << size, lanes = lanes_for(mean, slots);
      const int bytes = slots * static_cast<int>(sizeof(T) + sizeof(std::int32_t));
      int groups = kBlock / lanes;
      while (groups * bytes > kShared && groups * lanes > 32) groups /= 2;
      launch_shared("csr matmul", multiply_stretches<U, V>, dim3(static_cast<unsigned>(ceil_div(count, groups))),
                    dim3(groups * lanes), groups * bytes, Csr<U>::of(left), Csr<V>::of(right), indptr.as<const int64>(),
                    indices.as<const std::int32_t>(), c.values.as<T>(), Update<T>(alpha, beta),
                    stretches->keys.as<const Key>() + first, count, lanes, slots);
    }
  }
};

void prepare(const Plan& plan) { stretches_of(plan); }

}  // namespace

MatmulRow multiply_by_hash() { return {"hash", every_pair<Hash, MatmulKernel>(), prepare}; }

}  // namespace diagsparse::cuda::rows
