// The columns of rows of a csr product, marked in bitmaps.
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/marked_rows.cuh"
#include "entries/sorted_keys.cuh"
#include "entries/sorted_rows.cuh"

namespace diagsparse::cuda {

using namespace columns_of_product;

namespace {

constexpr int kBlockOfRow = 128;                   // threads of a block that marks a row
constexpr int kLargeBlock = 1024;                  // threads of a large block
constexpr std::int64_t kSmallWorkspace = 1 << 28;  // bytes of workspace that are always acceptable
// Lengths of rows of B above which they are deferred: to a warp (entries per lane that would mark it), or to all
// threads.
constexpr int kDeferFrom = 32, kForAll = 1024;

template <int Threads>
struct Deferred {
  static constexpr int kMost = Threads > 32 ? Threads : 1;

  int count;
  std::int64_t begin[kMost], end[kMost];
};

// The threads that process a row together, a warp or a block, and the words that they mark at once.
template <int Threads>
struct Team {
  static constexpr int kTeams = Threads == 32 ? kBlock / 32 : 1, kBlockSize = Threads * kTeams;

  unsigned* bits;
  int* of_warp;
  int most;  // most words of `bits`
  Deferred<Threads>* deferred;

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % Threads; }
  __device__ static int64 number() { return static_cast<int64>(blockIdx.x) * kTeams + threadIdx.x / Threads; }
  __device__ static void sync() {
    if constexpr (Threads == 32) __syncwarp();
    else __syncthreads();
  }

  // Marks the columns of row i from `first` on; returns the number of words.
  __device__ int mark(const Csr<float>& a, const Csr<float>& b, int64 i, Range range, int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(most), (range.high - first) / 32 + 1));
    for (int w = thread(); w < words; w += Threads) bits[w] = 0;
    if (Threads > 32 && thread() == 0) deferred->count = 0;
    sync();
    const int window = 32 * most;
    const bool complete = range.high - static_cast<int64>(range.low) < window;
    const auto mark_row = [&](int64 begin, int64 end, int from, int each) {
      constexpr int ahead = 4;
      if (!complete) begin = bisect(begin, end, [&](int64 f) { return b.indices[f] < first; });
      for (int64 f = begin + from; f < end; f += ahead * each) {
        int64 at[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) at[u] = f + u * each < end ? b.indices[f + u * each] - first : window;
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          if (at[u] < window) atomicOr(&bits[at[u] / 32], 1u << at[u] % 32);
        }
        if (at[0] >= window) break;
      }
    };
    // A few lanes process an entry of A, or one lane if there are many. A row of B that is too long for them is
    // deferred to a warp, or to all threads.
    const int64 last = a.indptr[i + 1];
    const int lanes = Threads == kLargeBlock && last - a.indptr[i] > 4 * Threads ? 1 : kGroup, lane = thread() % lanes;
    for (int64 chunk = a.indptr[i]; chunk < last; chunk += Threads) {
      const int64 stop = min(last, chunk + Threads);
      bool defers = false;
      for (int64 e = chunk + thread() / lanes; e < stop; e += Threads / lanes) {
        const int64 begin = b.indptr[a.indices[e]], end = b.indptr[a.indices[e] + 1];
        if (Threads == 32 || end - begin <= kDeferFrom * lanes) {
          mark_row(begin, end, lane, lanes);
        } else {
          defers = true;
          if (lane == 0) {
            const int at = atomicAdd(&deferred->count, 1);
            deferred->begin[at] = begin, deferred->end[at] = end;
          }
        }
      }
      if constexpr (Threads > 32) {
        if (!__syncthreads_or(defers)) continue;
        for (int w = 0; w < deferred->count; ++w) {
          const int64 begin = deferred->begin[w], end = deferred->end[w];
          if (end - begin > kForAll) mark_row(begin, end, thread(), Threads);
          else if (w % (Threads / 32) == thread() / 32) mark_row(begin, end, thread() % 32, 32);
        }
        __syncthreads();
        if (thread() == 0) deferred->count = 0;
        __syncthreads();
      }
    }
    sync();
    return words;
  }

  // The exclusive prefix sum of a value of each thread; `total`: the sum of all.
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
      sync();
      int at = sum - value;
      total = 0;
      for (int other = 0; other < Threads / 32; ++other) {
        if (other < warp) at += of_warp[other];
        total += of_warp[other];
      }
      sync();
      return at;
    }
  }
};

// Counts the columns of each row of a list (col: null), or writes them.
template <int Threads>
__global__ void __launch_bounds__(Team<Threads>::kBlockSize)
    process_rows(const Csr<float> a, const Csr<float> b, const std::int32_t* list, int64 listed, const Range* ranges,
                 int most, std::int64_t* counts, std::int32_t* col) {
  using T = Team<Threads>;
  extern __shared__ unsigned all_bits[];
  __shared__ int of_warps[T::kBlockSize / 32];
  const int which = threadIdx.x / Threads;
  __shared__ Deferred<Threads> deferred;
  T team{all_bits + which * most, of_warps + which * (Threads / 32), most, &deferred};
  if (T::number() >= listed) return;
  const int64 i = list[T::number()];
  const Range range = ranges[i];
  int64 to = col ? counts[i] : 0;
  for (int64 first = range.low; first <= range.high; first += 32 * most) {
    const int words = team.mark(a, b, i, range, first);
    const int each = (words + Threads - 1) / Threads | 1;  // words per thread; odd, to avoid bank conflicts
    const int begin = min(words, T::thread() * each), end = min(words, begin + each);
    int mine = 0, total;
    for (int w = begin; w < end; ++w) mine += __popc(team.bits[w]);
    int64 at = to + team.before(mine, total);
    to += total;
    for (int w = begin; col && w < end; ++w) {
      for (unsigned set = team.bits[w]; set != 0; set &= set - 1) {
        col[at++] = static_cast<std::int32_t>(first + 32 * w + __ffs(set) - 1);
      }
    }
    T::sync();
  }
  if (!col && T::thread() == 0) counts[i + 1] = to;
}

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b)
    : a_(a), b_(b), ranges_(Array::empty(DType::i32, {3 * a.rows})) {
  const Scratch<Totals> totals(1);
  CUDA_CALL(cudaMemsetAsync(totals.get(), 0, sizeof(Totals), stream()));
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<Range>(), totals.get());
  const Totals found = download(static_cast<const Totals*>(totals.get()), 1)[0];
  words_ = static_cast<std::int64_t>(found.words), products_ = static_cast<std::int64_t>(found.products);
  block_sorted_ = static_cast<std::int64_t>(found.block_sorted);
  static_assert(sizeof ends_ / sizeof *ends_ == kKinds);
  for (int k = 0; k < kKinds; ++k) ends_[k] = (k > 0 ? ends_[k - 1] : 0) + static_cast<std::int64_t>(found.rows[k]);
}

RowsOfProduct MarkedRows::rows() {
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto* const ranges = ranges_.as<const Range>();
  const auto end_of = [&](Kind kind) { return ends_[static_cast<int>(kind)]; };
  // Sorting needs 4 bytes per product; if that is too much, blocks mark bits instead.
  const std::int64_t workspace = 4 * block_sorted_;
  const bool blocks_sort =
      workspace <= kSmallWorkspace || workspace <= static_cast<std::int64_t>(memory(current_device()).free / 4);
  const std::int64_t listed = ends_[kKinds - 1];
  const std::int64_t sorted_rows = end_of(blocks_sort ? Kind::block_sorts : Kind::warp_sorts);
  const Scratch<std::int32_t> list(listed);
  const Scratch<std::int64_t> products_up_to(end_of(Kind::block_sorts));  // running sum of the products of each sorted
                                                                          // row
  const Scratch<int> cursors(kKinds);
  CUDA_CALL(cudaMemsetAsync(cursors.get(), 0, kKinds * sizeof(int), stream()));
  OfKinds begin{};
  for (int k = 1; k < kKinds; ++k) begin.of[k] = static_cast<int>(ends_[k - 1]);
  launch("list rows", list_rows, blocks(a_.rows), dim3(kBlock), a_.rows, ranges, begin, cursors.get(), list.get(),
         products_up_to.get());
  const Scratch<std::int32_t> sorted(
      sorted_rows > 0 ? inclusive_sum(products_up_to.get(), products_up_to.get(), sorted_rows) : 0);
  const auto sort = [&](auto kernel, int64 first, int64 last, int lanes) {
    launch("sort rows", kernel, blocks(lanes * (last - first)), dim3(kBlock), a_, b_, list.get(), first, last,
           products_up_to.get(), counts, sorted.get());
  };
  sort(sort_rows<16>, 0, end_of(Kind::half_warp_sorts), 16);
  sort(sort_rows<32>, end_of(Kind::half_warp_sorts), end_of(Kind::warp_sorts), 32);
  launch("sort rows", sort_rows_by_blocks, dim3(static_cast<unsigned>(sorted_rows - end_of(Kind::warp_sorts))),
         dim3(kSortBlock), a_, b_, ranges, list.get(), end_of(Kind::warp_sorts), products_up_to.get(), counts,
         sorted.get());
  const auto count_or_write = [&](std::int32_t* col) {
    const auto start = [&](auto kernel, Kind kind, int threads, int teams, int most) {
      const int64 first = ends_[static_cast<int>(kind) - 1], rows = end_of(kind) - first;
      launch_shared("process rows", kernel, dim3(static_cast<unsigned>(ceil_div(rows, teams))), dim3(threads * teams),
                    4 * most * teams, a_, b_, list.get() + first, rows, ranges, most, counts, col);
    };
    const int most = std::min(kLargeBlockMarks, limits<process_rows<kLargeBlock>>().shared / 4);
    start(process_rows<kLargeBlock>, Kind::large_block_marks, kLargeBlock, 1, most);
    if (!blocks_sort) start(process_rows<kLargeBlock>, Kind::block_sorts, kLargeBlock, 1, most);
    start(process_rows<kBlockOfRow>, Kind::block_marks, kBlockOfRow, 1, kBlockMarks);
    start(process_rows<32>, Kind::warp_marks, 32, kBlock / 32, kWarpMarks);
  };
  count_or_write(nullptr);
  Array col = Array::empty(DType::i32, {inclusive_sum(counts, counts, a_.rows + 1)});
  count_or_write(col.as<std::int32_t>());
  launch("copy sorted", copy_sorted, blocks(kGroup * sorted_rows), dim3(kBlock), list.get(), sorted_rows,
         products_up_to.get(), sorted.get(), counts, col.as<std::int32_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // because the plan may run in any stream
  const int64 count = col.size();
  std::vector<Part> arrays{{"indices", std::move(col)}, {"indptr", std::move(indptr)}};
  return {std::make_shared<const Indices>(common->name, a_.rows, b_.cols, std::move(arrays), count), products_};
}

}  // namespace diagsparse::cuda
