#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/marked_rows.cuh"
#include "entries/sorted_keys.cuh"
#include "entries/sorted_rows.cuh"

namespace diagsparse::cuda {

using namespace columns_of_product;

namespace {

constexpr int kWide = 4096;        // words that a block marks at once
constexpr int kBlockOfRow = 128;   // its threads
constexpr int kLargeBlock = 1024;  // those of a row with many products
constexpr int kHuge = 48 << 10;    // words that it marks at once, where the device has as much memory
constexpr int kLongOfB = 256;      // entries of a row of B, which all threads of a team mark

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

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b)
    : a_(a), b_(b), ranges_(Array::empty(DType::i32, {3 * a.rows})), few_(Array::empty(DType::i64, {a.rows})) {
  const Array totals = Array::zeros(DType::u64, {kTotals});
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<Range>(),
         few_.as<std::int64_t>(), totals.as<unsigned long long>());
  const std::vector<std::int64_t> found = download(totals.as<const std::int64_t>(), kTotals);
  reach_ = {found[0], found[1], found[2], found[3], found[4], found[5]};
}

RowsOfProduct MarkedRows::rows() {
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto* const ranges = ranges_.as<const Range>();
  const std::int64_t sorted_rows = reach_.tiny + reach_.few;
  const auto take = [&](std::int32_t* col) {
    const auto start = [&](auto kernel, std::int64_t rows, int threads, int teams, int most) {
      const dim3 grid(static_cast<unsigned>(rows > 0 ? ceil_div(a_.rows, teams) : 0));
      launch_shared("take rows", kernel, grid, dim3(threads * teams), 4 * most * teams, a_, b_, ranges, most, counts,
                    col);
    };
    start(take_rows<32>, a_.rows - sorted_rows - reach_.wide - reach_.heavy, 32, kBlock / 32, kNarrow);
    start(take_rows<kBlockOfRow>, reach_.wide, kBlockOfRow, 1, kWide);
    start(take_rows<kLargeBlock>, reach_.heavy, kLargeBlock, 1,
          std::min(kHuge, limits<take_rows<kLargeBlock>>().shared / 4));
  };
  auto* const ends = few_.as<std::int64_t>();
  const Scratch<std::int32_t> sorted(sorted_rows > 0 ? inclusive_sum(ends, ends, a_.rows) : 0);
  const auto sort = [&](auto kernel, std::int64_t rows, int lanes) {
    launch("sort rows", kernel, blocks(rows > 0 ? lanes * a_.rows : 0), dim3(kBlock), a_, b_, ranges, ends, counts,
           sorted.get());
  };
  sort(sort_rows<16>, reach_.tiny, 16);
  sort(sort_rows<32>, reach_.few, 32);
  take(nullptr);
  Array col = Array::empty(DType::i32, {inclusive_sum(counts, counts, a_.rows + 1)});
  take(col.as<std::int32_t>());
  launch("copy sorted", copy_sorted, blocks(sorted_rows > 0 ? kGroup * a_.rows : 0), dim3(kBlock), a_.rows, ranges,
         ends, sorted.get(), counts, col.as<std::int32_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // the plan may run in any stream
  const int64 count = col.size();
  std::vector<Part> arrays{{"indices", std::move(col)}, {"indptr", std::move(indptr)}};
  return {std::make_shared<const Indices>(csr.name, a_.rows, b_.cols, std::move(arrays), count), reach_.products};
}

}  // namespace diagsparse::cuda
