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
// threads update the same slot. At the end they write the row once, in order. There are no atomics on values, so every
// run gives the same bits. The slot is found without a search in two cases: if the columns of a row span no more than
// the number of slots, as in a band, it is the column's distance from the first one. If there are not too many words of
// 32 columns between the first column and the last, as for finite elements, it is the column's rank in the row, which
// is counted in bits.
//
// If a row of C or of A has many entries, warps process segments of the row of C: from row k of B a warp needs the
// entries in its range of columns, which it finds by bisection. They are few, so it adds those of several rows at once.
//
// The home slot of a column consists of some bits of the column times a multiplier. For the regular columns of a grid,
// some multipliers cause collisions in all rows, and others in none. Therefore the plan tries several of them on some
// rows, and selects the best. The plan lists the rows by the number of slots that they need. All of them run in one
// launch, because the last rows of each size would leave most of the device idle. A block computes as many rows of one
// size as fit in its memory. Rows are assigned more threads if the rows of B are longer.
#include "device/resident.cuh"
#include "kernels/rows/hash.cuh"
#include "kernels/rows/kernels.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kShared = 27 << 10;  // bytes per block: eight blocks run on a multiprocessor
constexpr int kLongOfA = 1024;     // most entries of a row of A for one group of threads

// Where the keys of each size begin.
struct Firsts {
  int64 of[kSizes + 2] = {};
};

// Rows sorted by size, smallest first; the last group (size kSizes) are the segments of long rows.
struct ResidentSegments {
  Array keys;
  Firsts firsts;
  int64 reads = 0;  // of entries of A
  unsigned multiplier = 0;

  auto arrays() const { return std::tie(keys); }
};

// The structures of A and C.
struct RowSizes {
  int64 count;
  const int64 *of_a, *of_c;
  const std::int32_t* columns;  // of C

  __device__ int64 entries(int64 i) const { return of_c[i + 1] - of_c[i]; }
  __device__ int64 entries_of_a(int64 i) const { return of_a[i + 1] - of_a[i]; }
  // The size of the table of row i, kSizes if it is a long row.
  __device__ int size(int64 i) const {
    const int64 n = entries(i);
    if (n == 0) return 0;
    if (n > kMostSlots || entries_of_a(i) > kLongOfA) return kSizes;
    const int64 words = words_between(columns[of_c[i]], columns[of_c[i + 1] - 1]);
    int size = 0;
    while (size < kSizes && !fits(kFewestSlots << size, n, words)) ++size;
    return size;
  }
  // The number of its segments, whose table has this size.
  __device__ int64 segments(int64 i, int size) const {
    return size < kSizes ? entries(i) > 0 : (entries(i) + kPerSegment - 1) / kPerSegment;
  }
};

// What one pass over the rows counts.
constexpr int kMultipliers = 16;
struct Counts {
  unsigned long long segments[kSizes + 1];  // of each size
  unsigned long long reads;                 // of entries of A: those of a row, once for each of its segments
  unsigned long long listed[kSizes + 1];    // segments that are listed so far
  unsigned long long collisions[kMultipliers];
};

__global__ void __launch_bounds__(kBlock) count_segments(const RowSizes rows, Counts* counts) {
  __shared__ unsigned of_block[kSizes + 1];
  if (threadIdx.x <= kSizes) of_block[threadIdx.x] = 0;
  __syncthreads();
  const int64 i = thread_index();
  const int size = i < rows.count ? rows.size(i) : 0;
  const int64 segments = i < rows.count ? rows.segments(i, size) : 0;
  unsigned long long reads = 0;
  if (segments > 0) {
    atomicAdd(&of_block[size], static_cast<unsigned>(segments));
    reads = static_cast<unsigned long long>(segments * rows.entries_of_a(i));
  }
  for (int step = 16; step > 0; step /= 2) reads += __shfl_xor_sync(~0u, reads, step);
  if (threadIdx.x % 32 == 0 && reads > 0) atomicAdd(&counts->reads, reads);
  __syncthreads();
  if (threadIdx.x <= kSizes && of_block[threadIdx.x] > 0) {
    atomicAdd(&counts->segments[threadIdx.x], static_cast<unsigned long long>(of_block[threadIdx.x]));
  }
}

// Writes the keys of the segments, those of each size from `firsts` on. Those of a block stay together; the order of
// blocks varies from run to run, which has no effect on the result.
__global__ void __launch_bounds__(kBlock)
    list_segments(const RowSizes rows, const __grid_constant__ Firsts firsts, Counts* counts, Key* keys) {
  __shared__ unsigned in_block[kSizes + 1];
  __shared__ int64 first[kSizes + 1];
  if (threadIdx.x <= kSizes) in_block[threadIdx.x] = 0;
  __syncthreads();
  const int64 i = thread_index();
  const int size = i < rows.count ? rows.size(i) : 0;
  const int64 segments = i < rows.count ? rows.segments(i, size) : 0;
  int64 at = 0;
  if (segments > 0) at = atomicAdd(&in_block[size], static_cast<unsigned>(segments));
  __syncthreads();
  if (threadIdx.x <= kSizes && in_block[threadIdx.x] > 0) {
    const auto count = static_cast<unsigned long long>(in_block[threadIdx.x]);
    first[threadIdx.x] = firsts.of[threadIdx.x] + static_cast<int64>(atomicAdd(&counts->listed[threadIdx.x], count));
  }
  __syncthreads();
  for (int64 s = 0; s < segments; ++s) keys[first[size] + at + s] = segment_key(i, s, size);
}

// ---- The multiplier ------------------------------------------------------------------------------------
constexpr int kTried = kBlock / 32;  // rows on which they are tried
__host__ __device__ constexpr unsigned multiplier_of(int m) { return 0x9e3779b1u * (2 * m + 1) ^ m << 1; }

// A block tests a multiplier, and each of its warps a row: it counts the columns whose slot is already in use.
__global__ void __launch_bounds__(kBlock) try_multipliers(const RowSizes rows, Counts* counts) {
  __shared__ unsigned occupied[kTried][kMostSlots / 32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64 i = rows.count * (2 * warp + 1) / (2 * kTried), begin = rows.of_c[i];
  const int64 entries = min(rows.entries(i), static_cast<int64>(kMostSlots / 2));
  for (int w = lane; w < kMostSlots / 32; w += 32) occupied[warp][w] = 0;
  int slots = kFewestSlots, found = 0;
  while (slots < 2 * entries) slots *= 2;
  __syncwarp();
  for (int64 e = lane; e < entries; e += 32) {
    const int slot = home(rows.columns[begin + e], multiplier_of(blockIdx.x)) & (slots - 1);
    found += (atomicOr(&occupied[warp][slot / 32], 1u << slot % 32) >> slot % 32 & 1) != 0;
  }
  atomicAdd(&counts->collisions[blockIdx.x], static_cast<unsigned long long>(found));
}

const int64* pointers(const StructurePtr& rows) { return static_cast<const Indices&>(*rows).at("indptr").as<int64>(); }

const std::int32_t* indices_of(const StructurePtr& rows) {
  return static_cast<const Indices&>(*rows).at("indices").as<std::int32_t>();
}

std::shared_ptr<ResidentSegments> list_all_segments(const Plan& plan) {
  const auto result = std::make_shared<ResidentSegments>();
  const RowSizes rows{plan.rows, pointers(plan.a), pointers(plan.c), indices_of(plan.c)};
  const Scratch<Counts> counts(1);
  CUDA_CALL(cudaMemsetAsync(counts.get(), 0, sizeof(Counts), stream()));
  launch("count segments", count_segments, blocks(plan.rows), dim3(kBlock), rows, counts.get());
  launch("try multipliers", try_multipliers, dim3(plan.rows > 0 ? kMultipliers : 0), dim3(kBlock), rows, counts.get());
  const Counts found = download(static_cast<const Counts*>(counts.get()), 1)[0];
  int64* const first = result->firsts.of;
  for (int s = 0; s <= kSizes; ++s) first[s + 1] = first[s] + static_cast<int64>(found.segments[s]);
  result->reads = static_cast<int64>(found.reads);
  result->multiplier = multiplier_of(
      static_cast<int>(std::min_element(found.collisions, found.collisions + kMultipliers) - found.collisions));
  result->keys = Array::empty(DType::u64, {first[kSizes + 1]});
  launch("list segments", list_segments, blocks(plan.rows), dim3(kBlock), rows, result->firsts, counts.get(),
         result->keys.as<Key>());
  return result;
}

std::shared_ptr<ResidentSegments> segments_of(const Plan& plan) {
  if (plan.repeated) return cached<ResidentSegments>(plan.cache, "segments", [&] { return list_all_segments(plan); });
  return plan.cache.get<ResidentSegments>("segments", [&] {  // for this stream only, so nothing has to be waited for
    auto result = list_all_segments(plan);
    plan.cache.count(result->keys.nbytes());
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
    constexpr int slot = static_cast<int>(sizeof(T) + sizeof(std::int32_t));
    SizeClasses classes;
    int64 blocks = 0;
    int shared = 0;
    for (int size = kSizes; size >= 0; --size) {  // those that take longest begin first
      const int64 first = segments->firsts.of[size], end = segments->firsts.of[size + 1];
      if (first == end) continue;
      const bool complete = size < kSizes;
      const int slots = complete ? kFewestSlots << size : 2 * kPerSegment,
                lanes = complete ? lanes_for(mean, slots) : 32;
      const int bytes = table_slots(slots, lanes) * slot;
      const int groups = std::min(kThreadsOfSegments / lanes, std::max(1, kShared / bytes));
      classes.of[classes.count++] = {first, end, blocks, lanes, groups, slots, complete};
      blocks += ceil_div(end - first, groups);
      shared = std::max(shared, groups * bytes);
    }
    launch_shared("csr matmul", multiply_segments<U, V>, dim3(static_cast<unsigned>(blocks)), dim3(kThreadsOfSegments),
                  shared, Csr<U>::of(left), Csr<V>::of(right), indptr.as<const int64>(),
                  indices.as<const std::int32_t>(), c.values.as<T>(), Update<T>(alpha, beta), segments->multiplier,
                  segments->keys.as<const Key>(), classes);
  }
};

void prepare_hash(const Plan& plan) { segments_of(plan); }

}  // namespace

int64 hash_reads(const Plan& plan) { return segments_of(plan)->reads; }

MatmulRow multiply_by_hash() { return {"hash", every_pair<Hash, MatmulKernel>(), prepare_hash}; }

}  // namespace diagsparse::cuda::rows
