#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/marked_rows.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroup = 8;          // threads that take an entry of A: many rows of B are short
constexpr int kNarrow = 64;        // words that a warp marks at once; rows with more are a block's
constexpr int kWide = 4096;        // words that a block marks at once
constexpr int kBlockOfRow = 128;   // its threads
constexpr int kLargeBlock = 1024;  // those of a row with many products
constexpr int kFew = 256;          // products of a row that a warp sorts
constexpr int kMany = 1 << 13;     // of a row that a large block marks
constexpr int kHuge = 48 << 10;    // words that it marks at once, where the device has as much memory
constexpr int kLongOfB = 256;      // entries of a row of B, which all threads of a team mark
constexpr int kManyEntries = 512;  // of a row of A, which all threads of a block look at

// What a row reaches: its first column and its last one, which is less where it has none; and its products, kMany if
// more.
struct Range {
  int low, high, products;

  __device__ int64 words() const { return high < low ? 0 : (high - static_cast<int64>(low)) / 32 + 1; }
};
enum class Kind { narrow, few, wide, heavy };
__device__ Kind kind_of(const Range& range) {
  if (range.products >= kMany) return Kind::heavy;
  if (range.words() <= kNarrow) return Kind::narrow;
  return range.products <= kFew ? Kind::few : Kind::wide;
}

constexpr int kTotals = 5;  // as many numbers as Reach has

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
    few[i] = kind == Kind::few ? range.products : 0;
    atomicAdd(&of_block[1], found.products);
    if (kind == Kind::few) atomicAdd(&of_block[2], 1ull);
    if (kind == Kind::wide) atomicAdd(&of_block[3], 1ull);
    if (kind == Kind::heavy) atomicAdd(&of_block[4], 1ull);
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

// The threads that take a row together, a warp or a block, and the words that they mark at once.
template <int Threads>
struct Team {
  static constexpr int kTeams = Threads == 32 ? kBlock / 32 : 1, kBlockSize = Threads * kTeams;

  unsigned* bits;
  int* of_warp;
  int most;  // words

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  __device__ static int64 row() { return static_cast<int64>(blockIdx.x) * kTeams + threadIdx.x / Threads; }
  __device__ static bool takes(const Range& range) {
    return kind_of(range) == (Threads == 32 ? Kind::narrow : Threads == kBlockOfRow ? Kind::wide : Kind::heavy);
  }
  __device__ static void meet() {
    if constexpr (Threads == 32) __syncwarp();
    else __syncthreads();
  }

  // Marks the columns of row i from `first` on; returns how many words there are. A group takes a row of B, and all
  // threads together a long one.
  __device__ int mark(const Csr<float>& a, const Csr<float>& b, int64 i, Range range, int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(most), (range.high - first) / 32 + 1));
    for (int w = thread(); w < words; w += Threads) bits[w] = 0;
    meet();
    const int window = 32 * most;
    const bool whole = range.high - static_cast<int64>(range.low) < window;
    const auto mark_row = [&](int64 begin, int64 end, int from, int each) {
      if (!whole) begin = bisect(begin, end, [&](int64 f) { return b.indices[f] < first; });
      for (int64 f = begin + from; f < end; f += each) {
        const int64 at = b.indices[f] - first;
        if (at >= window) break;
        atomicOr(&bits[at / 32], 1u << at % 32);
      }
    };
    const int64 last = a.indptr[i + 1];
    bool any_long = false;
    for (int64 e = a.indptr[i] + thread() / kGroup; e < last; e += Threads / kGroup) {
      const int64 begin = b.indptr[a.indices[e]], end = b.indptr[a.indices[e] + 1];
      if (end - begin > kLongOfB) any_long = true;
      else mark_row(begin, end, thread() % kGroup, kGroup);
    }
    any_long = Threads == 32 ? __any_sync(kAllLanes, any_long) : __syncthreads_or(any_long);
    for (int64 e = any_long ? a.indptr[i] : last; e < last; e += 32) {
      const int lane = thread() % 32;
      int64 begin = 0, end = 0;
      if (e + lane < last) begin = b.indptr[a.indices[e + lane]], end = b.indptr[a.indices[e + lane] + 1];
      for (unsigned left = __ballot_sync(kAllLanes, end - begin > kLongOfB); left != 0; left &= left - 1) {
        const int from = __ffs(left) - 1;
        mark_row(__shfl_sync(kAllLanes, begin, from), __shfl_sync(kAllLanes, end, from), thread(), Threads);
      }
    }
    meet();
    return words;
  }

  // Of a value of each thread the sum of those before it; `total` of all.
  __device__ int before(int value, int& total) {
    const int lane = thread() % 32, warp = thread() / 32;
    int sum = value;
    for (int step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += below;
    }
    if constexpr (Threads == 32) {
      total = __shfl_sync(kAllLanes, sum, 31);
      return sum - value;
    } else {
      if (lane == 31) of_warp[warp] = sum;
      meet();
      int at = sum - value;
      total = 0;
      for (int other = 0; other < Threads / 32; ++other) {
        if (other < warp) at += of_warp[other];
        total += of_warp[other];
      }
      meet();
      return at;
    }
  }
};

// Counts the columns of each row (col: null), or writes them.
template <int Threads>
__global__ void __launch_bounds__(Team<Threads>::kBlockSize)
    take_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, int most, std::int64_t* counts,
              std::int32_t* col) {
  using T = Team<Threads>;
  extern __shared__ unsigned all_bits[];
  __shared__ int of_warps[T::kBlockSize / 32];
  const int which = threadIdx.x / Threads;
  T team{all_bits + which * most, of_warps + which * (Threads / 32), most};
  const int64 i = T::row();
  if (i >= a.rows || !T::takes(ranges[i])) return;
  const Range range = ranges[i];
  int64 to = col ? counts[i] : 0;
  for (int64 first = range.low; first <= range.high; first += 32 * most) {
    const int words = team.mark(a, b, i, range, first);
    for (int base = 0; base < words; base += Threads) {
      const int w = base + T::thread();
      unsigned set = w < words ? team.bits[w] : 0;
      int total;
      int64 at = to + team.before(__popc(set), total);
      to += total;
      if (col) {
        for (; set != 0; set &= set - 1) col[at++] = static_cast<std::int32_t>(first + 32 * w + __ffs(set) - 1);
      }
    }
    T::meet();
  }
  if (!col && T::thread() == 0) counts[i + 1] = to;
}

// Sorts 32 Items numbers of a warp, of which lane l has those at l, l + 32, ... (bitonic).
template <int Items>
__device__ void sort_in_warp(int (&x)[Items]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int run = 2; run <= 32 * Items; run *= 2) {
#pragma unroll
    for (int apart = run / 2; apart > 0; apart /= 2) {
#pragma unroll
      for (int r = 0; r < Items; ++r) {
        const bool up = ((32 * r + lane) & run) == 0;
        if (apart < 32) {
          const int other = __shfl_xor_sync(kAllLanes, x[r], apart);
          x[r] = up == ((lane & apart) == 0) ? min(x[r], other) : max(x[r], other);
        } else if (const int s = r ^ apart / 32; s > r) {
          const int low = min(x[r], x[s]), high = max(x[r], x[s]);
          x[r] = up ? low : high, x[s] = up ? high : low;
        }
      }
    }
  }
}

// Writes the distinct columns of a list in order; returns how many there are.
template <int Items>
__device__ int take_distinct(const int* list, int products, std::int32_t* col) {
  constexpr int behind = 0x7fffffff;  // every column
  const int lane = threadIdx.x % 32;
  int x[Items];
#pragma unroll
  for (int r = 0; r < Items; ++r) x[r] = 32 * r + lane < products ? list[32 * r + lane] : behind;
  sort_in_warp(x);
  int last = -1, count = 0;  // of those before
#pragma unroll
  for (int r = 0; r < Items; ++r) {
    const int below = __shfl_up_sync(kAllLanes, x[r], 1);
    const bool takes = x[r] != behind && x[r] != (lane == 0 ? last : below);
    const unsigned taken = __ballot_sync(kAllLanes, takes);
    if (takes) col[count + __popc(taken & ((1u << lane) - 1))] = x[r];
    count += __popc(taken);
    last = __shfl_sync(kAllLanes, x[r], 31);
  }
  return count;
}

// Rows of few products: a warp puts their columns side by side, sorts them and takes each once, into room for all of
// its products, which ends at ends[i].
__global__ void __launch_bounds__(kBlock)
    sort_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, const std::int64_t* ends,
              std::int64_t* counts, std::int32_t* sorted) {
  __shared__ int lists[kBlock / 32][kFew];
  int* const list = lists[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, group = lane / kGroup;
  const int64 i = thread_index() / 32;
  if (i >= a.rows || kind_of(ranges[i]) != Kind::few) return;
  const int products = ranges[i].products;
  int filled = 0;
  for (int64 first = a.indptr[i]; first < a.indptr[i + 1]; first += 32) {
    const int here = static_cast<int>(min(static_cast<int64>(32), a.indptr[i + 1] - first));
    // Each lane: where a row of B begins, its length, and how many products come before it.
    int64 begin = 0;
    int length = 0;
    if (lane < here) {
      const int64 k = a.indices[first + lane];
      begin = b.indptr[k];
      length = static_cast<int>(b.indptr[k + 1] - begin);
    }
    int before = length;
    for (int step = 1; step < 32; step *= 2) {
      const int below = __shfl_up_sync(kAllLanes, before, step);
      if (lane >= step) before += below;
    }
    const int all = __shfl_sync(kAllLanes, before, 31);
    before += filled - length;
    for (int e = 0; e < here; e += 32 / kGroup) {
      const int64 from = __shfl_sync(kAllLanes, begin, e + group);
      const int count = __shfl_sync(kAllLanes, length, e + group), to = __shfl_sync(kAllLanes, before, e + group);
      for (int t = lane % kGroup; t < count; t += kGroup) list[to + t] = b.indices[from + t];
    }
    filled += all;
  }
  __syncwarp();
  std::int32_t* const to = sorted + (ends[i] - products);
  const int count = products <= 32    ? take_distinct<1>(list, products, to)
                    : products <= 64  ? take_distinct<2>(list, products, to)
                    : products <= 128 ? take_distinct<4>(list, products, to)
                                      : take_distinct<8>(list, products, to);
  if (lane == 0) counts[i + 1] = count;
}

// A group writes them where they belong.
__global__ void __launch_bounds__(kBlock)
    copy_sorted(int64 rows, const Range* ranges, const std::int64_t* ends, const std::int32_t* sorted,
                const std::int64_t* counts, std::int32_t* col) {
  const int64 i = thread_index() / kGroup;
  if (i >= rows || kind_of(ranges[i]) != Kind::few) return;
  const std::int32_t* const from = sorted + (ends[i] - ranges[i].products);
  const int64 to = counts[i], count = counts[i + 1] - to;
  for (int t = threadIdx.x % kGroup; t < count; t += kGroup) col[to + t] = from[t];
}

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b)
    : a_(a), b_(b), ranges_(Array::empty(DType::i32, {3 * a.rows})), few_(Array::empty(DType::i64, {a.rows})) {
  const Array totals = Array::zeros(DType::u64, {kTotals});
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<Range>(),
         few_.as<std::int64_t>(), totals.as<unsigned long long>());
  const std::vector<std::int64_t> found = download(totals.as<const std::int64_t>(), kTotals);
  reach_ = {found[0], found[1], found[2], found[3], found[4]};
}

RowsOfProduct MarkedRows::rows() {
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto* const ranges = ranges_.as<const Range>();
  const auto take = [&](std::int32_t* col) {
    const auto start = [&](auto kernel, std::int64_t rows, int threads, int teams, int most) {
      const dim3 grid(static_cast<unsigned>(rows > 0 ? ceil_div(a_.rows, teams) : 0));
      launch_shared("take rows", kernel, grid, dim3(threads * teams), 4 * most * teams, a_, b_, ranges, most, counts,
                    col);
    };
    start(take_rows<32>, a_.rows - reach_.few - reach_.wide - reach_.heavy, 32, kBlock / 32, kNarrow);
    start(take_rows<kBlockOfRow>, reach_.wide, kBlockOfRow, 1, kWide);
    start(take_rows<kLargeBlock>, reach_.heavy, kLargeBlock, 1,
          std::min(kHuge, limits<take_rows<kLargeBlock>>().shared / 4));
  };
  auto* const ends = few_.as<std::int64_t>();
  const Scratch<std::int32_t> sorted(reach_.few > 0 ? inclusive_sum(ends, ends, a_.rows) : 0);
  const bool few = reach_.few > 0;
  launch("sort rows", sort_rows, blocks(few ? 32 * a_.rows : 0), dim3(kBlock), a_, b_, ranges, ends, counts,
         sorted.get());
  take(nullptr);
  Array col = Array::empty(DType::i32, {inclusive_sum(counts, counts, a_.rows + 1)});
  take(col.as<std::int32_t>());
  launch("copy sorted", copy_sorted, blocks(few ? kGroup * a_.rows : 0), dim3(kBlock), a_.rows, ranges, ends,
         sorted.get(), counts, col.as<std::int32_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // the plan may run in any stream
  const int64 count = col.size();
  std::vector<Part> arrays{{"indices", std::move(col)}, {"indptr", std::move(indptr)}};
  return {std::make_shared<const Indices>(csr.name, a_.rows, b_.cols, std::move(arrays), count), reach_.products};
}

}  // namespace diagsparse::cuda
