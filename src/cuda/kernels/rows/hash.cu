// C = alpha A B + beta C of csr by rows, with sums in shared memory: "hash".
//
//   A: m x l, B: l x n, C: m x n, whose structure (indptr, indices) is in the plan: row i of C is the sum of A[i, k]
//   times row k of B.
//
// A group of threads of a warp computes a row of C:
//
//     indices of C     2   3   7  11            the row's columns
//     keys          .  7   .   2  11   .   3    each in its home slot, or in the next free one
//     sums          .  0   .   0   0   .   0    its sum, in the same slot
//
// The threads loop over k in order and divide row k of B among them. The columns of this row are distinct, so no two
// threads update the same slot. At the end they write the row once, in order. If the columns of a row span no more than
// the number of slots, as in a band, the slot is the column's distance from the first one. There are no atomics on
// values, so every run gives the same bits.
//
// If a row of C or of A has many entries, blocks process segments of the row of C, and each warp a part of a segment:
// from row k of B it needs the entries in its range of columns, which it finds by bisection.
//
// The home slot of a column consists of some bits of the column times a multiplier. For the regular columns of a grid,
// some multipliers cause collisions in all rows, and others in none. Therefore the plan tries several of them on some
// rows, and selects the best. The plan sorts the rows by the number of slots that they need; all rows of one size run
// in one launch, with as much shared memory as they need. Rows are assigned more threads if the rows of B are longer.
#include "device/resident.cuh"
#include "kernels/rows/hash.cuh"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kShared = 48 << 10;       // bytes per block that every GPU supports
constexpr int kLongOfA = kMostEntries;  // most entries of a row of A for one group of threads

// Rows sorted by size, smallest first; the last group (size kSizes) are the segments of long rows.
struct ResidentSegments {
  Array keys;
  int64 first[kSizes + 2] = {};  // range of the keys of each size
  unsigned multiplier = 0;

  auto arrays() const { return std::tie(keys); }
};

__device__ int size_of(int64 entries, int64 of_a) {
  if (entries > kMostEntries || of_a > kLongOfA) return kSizes;
  int size = 0;
  while (kFewestSlots << size < 2 * entries) ++size;
  return size;
}

// The number of segments of row i.
__device__ int64 segments_in(int64 entries, int64 of_a) {
  return entries == 0 ? 0 : size_of(entries, of_a) < kSizes ? 1 : (entries + kPerBlock - 1) / kPerBlock;
}

__global__ void __launch_bounds__(kBlock)
    count_segments(const int64* of_c, const int64* of_a, int64 rows, std::int64_t* counts) {
  const int64 i = thread_index();
  if (i < rows) counts[i] = segments_in(of_c[i + 1] - of_c[i], of_a[i + 1] - of_a[i]);
}

__global__ void __launch_bounds__(kBlock)
    list_segments(const int64* of_c, const int64* of_a, int64 rows, const std::int64_t* ends, Key* keys) {
  const int64 i = thread_index();
  if (i >= rows) return;
  const int64 before = i == 0 ? 0 : ends[i - 1];
  const int size = size_of(of_c[i + 1] - of_c[i], of_a[i + 1] - of_a[i]);
  for (int64 s = 0; s < ends[i] - before; ++s) keys[before + s] = segment_key(i, s, size);
}

__global__ void __launch_bounds__(kBlock)
    count_reads(const int64* of_c, const int64* of_a, int64 rows, std::int64_t* reads) {
  const int64 i = thread_index();
  if (i >= rows) return;
  const int64 entries = of_a[i + 1] - of_a[i];
  reads[i] = entries * segments_in(of_c[i + 1] - of_c[i], entries);
}

__global__ void find_sizes(const Key* keys, int64 count, std::int64_t* first) {
  const Key mask = (1 << kSizeBits) - 1;
  first[threadIdx.x] = bisect(0, count, [&](int64 p) { return (keys[p] & mask) < threadIdx.x; });
}

// ---- The multiplier ------------------------------------------------------------------------------------
constexpr int kMultipliers = 16, kTried = kWarps;  // multipliers, and rows on which they are tried
__host__ __device__ constexpr unsigned multiplier_of(int m) { return 0x9e3779b1u * (2 * m + 1) ^ m << 1; }

// A block tests a multiplier, and each of its warps a row: it counts the columns whose slot is already in use.
__global__ void __launch_bounds__(kBlock)
    try_multipliers(const int64* indptr, const std::int32_t* indices, int64 rows, std::int64_t* collisions) {
  __shared__ unsigned occupied[kTried][kMostSlots / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 i = rows * (2 * warp + 1) / (2 * kTried), begin = indptr[i];
  const int64 entries = min(indptr[i + 1] - begin, static_cast<int64>(kMostEntries));
  for (int w = lane; w < kMostSlots / 32; w += 32) occupied[warp][w] = 0;
  int slots = kFewestSlots, found = 0;
  while (slots < 2 * entries) slots *= 2;
  __syncwarp();
  for (int64 e = lane; e < entries; e += 32) {
    const int slot = home(indices[begin + e], multiplier_of(blockIdx.x)) & (slots - 1);
    found += (atomicOr(&occupied[warp][slot / 32], 1u << slot % 32) >> slot % 32 & 1) != 0;
  }
  atomicAdd(reinterpret_cast<unsigned long long*>(collisions) + blockIdx.x, static_cast<unsigned long long>(found));
}

const int64* pointers(const StructurePtr& rows) { return static_cast<const Indices&>(*rows).at("indptr").as<int64>(); }

const std::int32_t* indices_of(const StructurePtr& rows) {
  return static_cast<const Indices&>(*rows).at("indices").as<std::int32_t>();
}

std::shared_ptr<ResidentSegments> segments_of(const Plan& plan) {
  return cached<ResidentSegments>(plan.cache, "segments", [&] {
    const auto result = std::make_shared<ResidentSegments>();
    const int64 *of_c = pointers(plan.c), *of_a = pointers(plan.a);
    const Scratch<std::int64_t> ends(plan.rows), first(kSizes + 2 + kMultipliers);
    std::int64_t* const collisions = first.get() + kSizes + 2;
    launch("count segments", count_segments, blocks(plan.rows), dim3(kBlock), of_c, of_a, plan.rows, ends.get());
    const int64 count = inclusive_sum(ends.get(), ends.get(), plan.rows);
    std::shared_ptr<void> keys = allocate(8 * count);
    launch("list segments", list_segments, blocks(plan.rows), dim3(kBlock), of_c, of_a, plan.rows, ends.get(),
           static_cast<Key*>(keys.get()));
    sort_keys(keys, count, kSizeBits);  // stable: rows of one size stay in order
    launch("find sizes", find_sizes, dim3(1), dim3(kSizes + 2), static_cast<const Key*>(keys.get()), count,
           first.get());
    CUDA_CALL(cudaMemsetAsync(collisions, 0, kMultipliers * sizeof(std::int64_t), stream()));
    launch("try multipliers", try_multipliers, dim3(plan.rows > 0 ? kMultipliers : 0), dim3(kBlock), of_c,
           indices_of(plan.c), plan.rows, collisions);
    const auto found = download(first.get(), kSizes + 2 + kMultipliers);
    std::copy_n(found.begin(), kSizes + 2, result->first);
    result->multiplier = multiplier_of(
        static_cast<int>(std::min_element(found.begin() + kSizes + 2, found.end()) - found.begin() - (kSizes + 2)));
    result->keys.data = keys.get();
    result->keys.owner = keys;
    result->keys.dtype = DType::u64;
    result->keys.shape.rows = count;
    result->keys.device = current_device();
    return result;
  });
}

// As many threads as a mean row of B can use, and more if a row needs much memory.
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
    const std::shared_ptr<ResidentSegments> segments = segments_of(plan);
    const int64 mean = ceil_div(right.values.size(), std::max<int64>(right.rows, 1));
    const auto start = [&](auto kernel, int64 grid, int threads, int bytes, const auto&... more) {
      launch_shared("csr matmul", kernel, dim3(static_cast<unsigned>(grid)), dim3(threads), bytes, Csr<U>::of(left),
                    Csr<V>::of(right), indptr.as<const int64>(), indices.as<const std::int32_t>(), c.values.as<T>(),
                    Update<T>(alpha, beta), segments->multiplier, more...);
    };
    const Key* const keys = segments->keys.as<const Key>();
    constexpr int slot = static_cast<int>(sizeof(T) + sizeof(std::int32_t));
    const int64* const first = segments->first;
    start(multiply_rows_in_parts<U, V>, first[kSizes + 1] - first[kSizes], kBlock, 2 * kPerBlock * slot,
          keys + first[kSizes]);
    for (int size = kSizes - 1; size >= 0; --size) {
      const int64 count = first[size + 1] - first[size];
      const int slots = kFewestSlots << size, lanes = lanes_for(mean, slots);
      const int bytes = table_slots(slots, lanes) * slot;
      int groups = kBlock / lanes;
      while (groups * bytes > kShared && groups * lanes > 32) groups /= 2;
      start(multiply_complete_rows<U, V>, ceil_div(count, groups), groups * lanes, groups * bytes, keys + first[size],
            count, lanes, slots);
    }
  }
};

void prepare_hash(const Plan& plan) { segments_of(plan); }

}  // namespace

int64 hash_reads(const Plan& plan) {
  const Scratch<std::int64_t> reads(plan.rows);
  launch("count reads", count_reads, blocks(plan.rows), dim3(kBlock), pointers(plan.c), pointers(plan.a), plan.rows,
         reads.get());
  return plan.rows > 0 ? inclusive_sum(reads.get(), reads.get(), plan.rows) : 0;
}

MatmulRow multiply_by_hash() { return {"hash", every_pair<Hash, MatmulKernel>(), prepare_hash}; }

}  // namespace diagsparse::cuda::rows
