#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/marked_rows.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse::cuda {

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kGroup = 8;         // threads that take an entry of A: many rows of B are short
constexpr int kNarrow = 64;       // words that a warp marks at once; rows with more are a block's
constexpr int kWide = 4096;       // words that a block marks at once
constexpr int kBlockOfRow = 128;  // its threads

__device__ int64 words_of(int2 range) { return range.y < range.x ? 0 : (range.y - range.x) / 32 + 1; }

// A group takes a row.
__global__ void __launch_bounds__(kBlock)
    find_ranges(const Csr<float> a, const Csr<float> b, int2* ranges, unsigned long long* totals) {
  __shared__ unsigned long long of_block[3];
  if (threadIdx.x < 3) of_block[threadIdx.x] = 0;
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
    const int2 range = make_int2(low, high);
    ranges[i] = range;
    const auto words = static_cast<unsigned long long>(words_of(range));
    atomicAdd(&of_block[0], words);
    atomicAdd(&of_block[1], products);
    atomicAdd(&of_block[2], words > kNarrow ? 1ull : 0ull);
  }
  __syncthreads();
  if (threadIdx.x < 3 && of_block[threadIdx.x] > 0) atomicAdd(totals + threadIdx.x, of_block[threadIdx.x]);
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
  __device__ static bool takes(int2 range) { return (words_of(range) > kNarrow) == (Threads > 32); }
  __device__ static void meet() {
    if constexpr (Threads == 32) __syncwarp();
    else __syncthreads();
  }

  // Marks the columns of row i from `first` on; returns how many words there are.
  __device__ int mark(const Csr<float>& a, const Csr<float>& b, int64 i, int2 range, int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(Words), (range.y - first) / 32 + 1));
    for (int w = thread(); w < words; w += Threads) bits[w] = 0;
    meet();
    const bool whole = range.y - static_cast<int64>(range.x) < kWindow;
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
    take_rows(const Csr<float> a, const Csr<float> b, const int2* ranges, std::int64_t* counts, std::int32_t* col) {
  using T = Team<Threads, Words>;
  __shared__ T teams[T::kTeams];
  T& team = teams[threadIdx.x / Threads];
  const int64 i = T::row();
  if (i >= a.rows || !T::takes(ranges[i])) return;
  const int2 range = ranges[i];
  int64 to = col ? counts[i] : 0;
  for (int64 first = range.x; first <= range.y; first += T::kWindow) {
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

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b)
    : a_(a), b_(b), ranges_(Array::empty(DType::i64, {a.rows})) {
  const Array totals = Array::zeros(DType::u64, {3});
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<int2>(),
         totals.as<unsigned long long>());
  const std::vector<std::int64_t> found = download(totals.as<const std::int64_t>(), 3);
  reach_ = {found[0], found[1], found[2]};
}

RowsOfProduct MarkedRows::rows() const {
  using Narrow = Team<32, kNarrow>;
  using Wide = Team<kBlockOfRow, kWide>;
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto take = [&](std::int32_t* col) {
    const dim3 narrow(static_cast<unsigned>(ceil_div(a_.rows, Narrow::kTeams)));
    launch("take rows", take_rows<32, kNarrow>, narrow, dim3(Narrow::kBlockSize), a_, b_, ranges_.as<const int2>(),
           counts, col);
    const dim3 wide(static_cast<unsigned>(reach_.wide > 0 ? a_.rows : 0));
    launch("take wide rows", take_rows<kBlockOfRow, kWide>, wide, dim3(Wide::kBlockSize), a_, b_,
           ranges_.as<const int2>(), counts, col);
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
