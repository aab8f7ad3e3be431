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

// A group takes a row.
__global__ void __launch_bounds__(kBlock)
    find_ranges(const Csr<float> a, const Csr<float> b, Range* ranges, unsigned long long* totals) {
  __shared__ unsigned long long of_block[kTotals];
  if (threadIdx.x < kTotals) of_block[threadIdx.x] = 0;
  __syncthreads();
  const int64 i = thread_index() / kGroup;
  const int lane = threadIdx.x % kGroup;
  int low = 0x7fffffff, high = -1;
  unsigned long long products = 0;
  if (i < a.rows) {
    for (int64 e = a.indptr[i] + lane; e < a.indptr[i + 1]; e += kGroup) {
      const int64 begin = b.indptr[a.indices[e]], end = b.indptr[a.indices[e] + 1];
      if (begin == end) continue;
      low = min(low, b.indices[begin]);
      high = max(high, b.indices[end - 1]);
      products += end - begin;
    }
  }
  __syncwarp();
  for (int step = 1; step < kGroup; step *= 2) {
    low = min(low, __shfl_xor_sync(kAllLanes, low, step));
    high = max(high, __shfl_xor_sync(kAllLanes, high, step));
    products += __shfl_xor_sync(kAllLanes, products, step);
  }
  if (i < a.rows && lane == 0) {
    const Range range{low, high, static_cast<int>(min(products, static_cast<unsigned long long>(kMany)))};
    ranges[i] = range;
    const Kind kind = kind_of(range);
    atomicAdd(&of_block[1], products);
    if (kind == Kind::few) atomicAdd(&of_block[2], 1ull);
    if (kind == Kind::wide) atomicAdd(&of_block[3], 1ull);
    if (kind == Kind::heavy) atomicAdd(&of_block[4], 1ull);
    if (kind >= Kind::wide) atomicAdd(&of_block[0], static_cast<unsigned long long>(range.words()));
  }
  __syncthreads();
  if (threadIdx.x < kTotals && of_block[threadIdx.x] > 0) atomicAdd(totals + threadIdx.x, of_block[threadIdx.x]);
}

// The threads that take a row together, a warp or a block, and the words that they mark at once.
template <int Threads, int Words>
struct Team {
  static constexpr int kTeams = Threads == 32 ? kBlock / 32 : 1, kBlockSize = Threads * kTeams;
  static constexpr int kWindow = 32 * Words;

  unsigned bits[Words];
  int of_warp[Threads / 32];

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  __device__ static int64 row() { return static_cast<int64>(blockIdx.x) * kTeams + threadIdx.x / Threads; }
  __device__ static bool takes(const Range& range) {
    return kind_of(range) == (Threads == 32 ? Kind::narrow : Threads == kBlockOfRow ? Kind::wide : Kind::heavy);
  }
  __device__ static void meet() {
    if constexpr (Threads == 32) __syncwarp();
    else __syncthreads();
  }

  // Marks the columns of row i from `first` on; returns how many words there are.
  __device__ int mark(const Csr<float>& a, const Csr<float>& b, int64 i, Range range, int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(Words), (range.high - first) / 32 + 1));
    for (int w = thread(); w < words; w += Threads) bits[w] = 0;
    meet();
    const bool whole = range.high - static_cast<int64>(range.low) < kWindow;
    for (int64 e = a.indptr[i] + thread() / kGroup; e < a.indptr[i + 1]; e += Threads / kGroup) {
      const int64 row = b.indptr[a.indices[e]], end = b.indptr[a.indices[e] + 1];
      const int64 begin = whole ? row : bisect(row, end, [&](int64 f) { return b.indices[f] < first; });
      for (int64 f = begin + thread() % kGroup; f < end; f += kGroup) {
        const int64 at = b.indices[f] - first;
        if (at >= kWindow) break;
        atomicOr(&bits[at / 32], 1u << at % 32);
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
template <int Threads, int Words>
__global__ void __launch_bounds__(Team<Threads, Words>::kBlockSize)
    take_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, std::int64_t* counts, std::int32_t* col) {
  using T = Team<Threads, Words>;
  __shared__ T teams[T::kTeams];
  T& team = teams[threadIdx.x / Threads];
  const int64 i = T::row();
  if (i >= a.rows || !T::takes(ranges[i])) return;
  const Range range = ranges[i];
  int64 to = col ? counts[i] : 0;
  for (int64 first = range.low; first <= range.high; first += T::kWindow) {
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

// Counts the distinct columns of a list, or writes them in order from `to` on; returns where they end.
template <int Items>
__device__ int64 take_distinct(const int* list, int products, int64 to, std::int32_t* col) {
  constexpr int behind = 0x7fffffff;  // every column
  const int lane = threadIdx.x % 32;
  int x[Items];
#pragma unroll
  for (int r = 0; r < Items; ++r) x[r] = 32 * r + lane < products ? list[32 * r + lane] : behind;
  sort_in_warp(x);
  int last = -1;  // of those before
#pragma unroll
  for (int r = 0; r < Items; ++r) {
    const int below = __shfl_up_sync(kAllLanes, x[r], 1);
    const bool takes = x[r] != behind && x[r] != (lane == 0 ? last : below);
    const unsigned taken = __ballot_sync(kAllLanes, takes);
    if (takes && col) col[to + __popc(taken & ((1u << lane) - 1))] = x[r];
    to += __popc(taken);
    last = __shfl_sync(kAllLanes, x[r], 31);
  }
  return to;
}

// The same for rows of few products: a warp puts their columns side by side, sorts them and takes each once.
__global__ void __launch_bounds__(kBlock)
    sort_rows(const Csr<float> a, const Csr<float> b, const Range* ranges, std::int64_t* counts, std::int32_t* col) {
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
  const int64 to = col ? counts[i] : 0;
  const int64 end = products <= 32    ? take_distinct<1>(list, products, to, col)
                    : products <= 64  ? take_distinct<2>(list, products, to, col)
                    : products <= 128 ? take_distinct<4>(list, products, to, col)
                                      : take_distinct<8>(list, products, to, col);
  if (!col && lane == 0) counts[i + 1] = end;
}

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b)
    : a_(a), b_(b), ranges_(Array::empty(DType::i32, {3 * a.rows})) {
  const Array totals = Array::zeros(DType::u64, {kTotals});
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<Range>(),
         totals.as<unsigned long long>());
  const std::vector<std::int64_t> found = download(totals.as<const std::int64_t>(), kTotals);
  reach_ = {found[0], found[1], found[2], found[3], found[4]};
}

RowsOfProduct MarkedRows::rows() const {
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto take = [&](std::int32_t* col) {
    const auto start = [&](const char* what, auto kernel, std::int64_t rows, int teams, int threads) {
      const dim3 grid(static_cast<unsigned>(rows > 0 ? ceil_div(a_.rows, teams) : 0));
      launch(what, kernel, grid, dim3(threads), a_, b_, ranges_.as<const Range>(), counts, col);
    };
    start("take rows", take_rows<32, kNarrow>, a_.rows, kBlock / 32, kBlock);
    start("sort rows", sort_rows, reach_.few, kBlock / 32, kBlock);
    start("take wide rows", take_rows<kBlockOfRow, kWide>, reach_.wide, 1, kBlockOfRow);
    start("take heavy rows", take_rows<kLargeBlock, kWide>, reach_.heavy, 1, kLargeBlock);
  };
  take(nullptr);
  Array col = Array::empty(DType::i32, {inclusive_sum(counts, counts, a_.rows + 1)});
  take(col.as<std::int32_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // the plan may run in any stream
  const int64 count = col.size();
  std::vector<Part> arrays{{"indices", std::move(col)}, {"indptr", std::move(indptr)}};
  return {std::make_shared<const Indices>(csr.name, a_.rows, b_.cols, std::move(arrays), count), reach_.products};
}

}  // namespace diagsparse::cuda
