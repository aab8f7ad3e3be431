// The columns of rows of a csr product, marked in bitmaps.
#include "device/bisection.cuh"
#include "device/launch.cuh"
#include "entries/marked_rows.cuh"
#include "entries/sorted_keys.cuh"
#include "entries/sorted_rows.cuh"
#include "entries/words_of_rows.cuh"

namespace diagsparse::cuda {

using namespace columns_of_product;

namespace {

constexpr int kBlockOfRow = 128;                   // threads of a block that marks a row
constexpr int kLargeBlock = 1024;                  // threads of a large block
constexpr std::int64_t kSmallWorkspace = 1 << 28;  // bytes of workspace that are always acceptable
// Lengths of rows of B above which they are deferred: to a warp (entries per lane that would mark it), or to all
// threads.
constexpr int kDeferFrom = 32, kForAll = 1024;
constexpr int kListWordsFrom = 16;  // products per entry of B above which the words of B are listed

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

  // Marks the columns of row i from `first` on, which is a multiple of 32; returns the number of words.
  __device__ int mark(const Csr<float>& a, const Csr<float>& b, const WordsOfRows& listed, int64 i, Range range,
                      int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(most), (range.high - first) / 32 + 1));
    for (int w = thread(); w < words; w += Threads) bits[w] = 0;
    if (Threads > 32 && thread() == 0) deferred->count = 0;
    sync();
    const bool complete = range.words() <= most;
    const int64 first_word = first / 32;
    const auto word_at = [&](int64 f) {
      if (listed.words) return listed.words[f];
      const unsigned column = b.indices[f];
      return Word{static_cast<std::int32_t>(column / 32), 1u << column % 32};
    };
    const auto mark_row = [&](int64 begin, int64 end, int from, int each) {
      constexpr int ahead = 4;
      if (!complete) begin = bisect(begin, end, [&](int64 f) { return word_at(f).index < first_word; });
      for (int64 f = begin + from; f < end; f += ahead * each) {
        Word next[ahead];
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          if (f + u * each < end) next[u] = word_at(f + u * each);
        }
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          if (f + u * each < end && next[u].index - first_word < words) {
            atomicOr(&bits[next[u].index - first_word], next[u].bits);
          }
        }
        if (next[0].index - first_word >= words) break;
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
        const std::int32_t k = a.indices[e];
        const int64 begin = b.indptr[k], end = listed.words ? begin + listed.counts[k] : b.indptr[k + 1];
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

// Counts the columns of each row of a list and writes them, if col is not null: from col + begin[p] on, where begin has
// an element for each row of the list (`rooms`), or for each row of the matrix (`rooms` is null: counts).
template <int Threads>
__global__ void __launch_bounds__(Team<Threads>::kBlockSize)
    process_rows(const Csr<float> a, const Csr<float> b, const WordsOfRows words_of_b, const std::int32_t* list,
                 int64 listed, const Range* ranges, int most, const std::int64_t* rooms, std::int64_t* counts,
                 std::int32_t* col) {
  using T = Team<Threads>;
  extern __shared__ unsigned all_bits[];
  __shared__ int of_warps[T::kBlockSize / 32];
  const int which = threadIdx.x / Threads;
  __shared__ Deferred<Threads> deferred;
  T team{all_bits + which * most, of_warps + which * (Threads / 32), most, &deferred};
  if (T::number() >= listed) return;
  const int64 i = list[T::number()];
  const Range range = ranges[i];
  const int64 begin_of_row = !col ? 0 : rooms ? rooms[T::number()] : counts[i];
  int64 to = begin_of_row;
  for (int64 first = range.first(); first <= range.high; first += 32 * most) {
    const int words = team.mark(a, b, words_of_b, i, range, first);
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
  if ((rooms || !col) && T::thread() == 0) counts[i + 1] = to - begin_of_row;
}

}  // namespace

MarkedRows::MarkedRows(const Csr<float>& a, const Csr<float>& b, int64 entries_of_b)
    : a_(a), b_(b), entries_of_b_(entries_of_b), ranges_(Array::empty(DType::i32, {3 * a.rows})), counters_(1) {
  CUDA_CALL(cudaMemsetAsync(counters_.get(), 0, sizeof(Counters), stream()));
  launch("find ranges", find_ranges, blocks(kGroup * a.rows), dim3(kBlock), a, b, ranges_.as<Range>(),
         &counters_.get()->totals);
  totals_ = download(static_cast<const Totals*>(&counters_.get()->totals), 1)[0];
}

RowsOfProduct MarkedRows::rows() {
  Array indptr = Array::zeros(DType::i64, {a_.rows + 1});
  auto* const counts = indptr.as<std::int64_t>();
  const auto* const ranges = ranges_.as<const Range>();
  // Each row has room for the most columns that it can have, unless that is too much. Then only the rows that warps
  // sort have room; the others are marked by blocks twice, to count the columns and to write them.
  std::int64_t ends[kKinds], room = 0;
  for (int k = 0; k < kKinds; ++k) {
    ends[k] = (k > 0 ? ends[k - 1] : 0) + static_cast<std::int64_t>(totals_.rows[k]);
    room += static_cast<std::int64_t>(totals_.most[k]);
  }
  const auto end_of = [&](Kind kind) { return ends[static_cast<int>(kind)]; };
  const auto first_of = [&](Kind kind) { return kind == Kind{} ? 0 : ends[static_cast<int>(kind) - 1]; };
  const bool once = 4 * room <= kSmallWorkspace || 4 * room <= memory(current_device()).free / 4;
  const Kind last = once ? Kind::large_block_marks : Kind::warp_sorts;
  if (!once) room = static_cast<std::int64_t>(totals_.most[0] + totals_.most[1]);
  const std::int64_t listed = end_of(Kind::large_block_marks);
  const Scratch<std::int32_t> list(listed), columns(room);
  const Scratch<std::int64_t> rooms(end_of(last));
  const bool lists_words = totals_.words > 0 && products() >= kListWordsFrom * entries_of_b_;
  const Scratch<Word> words(lists_words ? entries_of_b_ : 0);
  const Scratch<std::int32_t> words_in_row(lists_words ? b_.rows : 0);
  WordsOfRows words_of_b;
  if (lists_words) {
    words_of_b = {words.get(), words_in_row.get()};
    launch("list words", list_words, blocks(32 * b_.rows), dim3(kBlock), b_, words.get(), words_in_row.get());
  }
  OfKinds begin{};
  for (int k = 1; k < kKinds; ++k) begin.of[k] = static_cast<int>(ends[k - 1]);
  launch("list rows", list_rows, blocks(a_.rows), dim3(kBlock), a_.rows, ranges, begin, last, &counters_.get()->cursors,
         list.get(), rooms.get());
  const auto sort = [&](auto kernel, Kind kind, int threads, int lanes) {
    const int64 first = first_of(kind), rows = end_of(kind) - first;
    launch("sort rows", kernel, dim3(static_cast<unsigned>(ceil_div(rows * lanes, threads))), dim3(threads), a_, b_,
           ranges, list.get() + first, rows, rooms.get() + first, counts, columns.get());
  };
  sort(sort_rows<16>, Kind::half_warp_sorts, kBlock, 16);
  sort(sort_rows<32>, Kind::warp_sorts, kBlock, 32);
  if (once) sort(sort_rows_by_blocks, Kind::block_sorts, kSortBlock, kSortBlock);  // a block for each row
  const auto mark = [&](const std::int64_t* to, std::int32_t* col) {
    const auto start = [&](auto kernel, Kind kind, int threads, int teams, int most) {
      const int64 first = first_of(kind), rows = end_of(kind) - first;
      launch_shared("process rows", kernel, dim3(static_cast<unsigned>(ceil_div(rows, teams))), dim3(threads * teams),
                    4 * most * teams, a_, b_, words_of_b, list.get() + first, rows, ranges, most,
                    to ? to + first : nullptr, counts, col);
    };
    const int most = std::min(kLargeBlockMarks, limits<process_rows<kLargeBlock>>().shared / 4);
    start(process_rows<kLargeBlock>, Kind::large_block_marks, kLargeBlock, 1, most);
    if (!once) start(process_rows<kLargeBlock>, Kind::block_sorts, kLargeBlock, 1, most);
    start(process_rows<kBlockOfRow>, Kind::block_marks, kBlockOfRow, 1, kBlockMarks);
    start(process_rows<32>, Kind::warp_marks, 32, kBlock / 32, kWarpMarks);
  };
  mark(once ? rooms.get() : nullptr, once ? columns.get() : nullptr);
  Array col = Array::empty(DType::i32, {inclusive_sum(counts, counts, a_.rows + 1)});
  for (int k = 0; k <= static_cast<int>(last); ++k) {
    const int64 first = first_of(static_cast<Kind>(k)), rows = ends[k] - first;
    if (rows == 0) continue;
    int lanes = kGroup;  // a thread copies four columns of a mean row, or less
    while (lanes < kBlock && static_cast<int64>(totals_.most[k]) > 4 * lanes * rows) lanes *= 2;
    launch("copy columns", copy_columns, blocks(lanes * rows), dim3(kBlock), list.get() + first, rows,
           rooms.get() + first, lanes, columns.get(), counts, col.as<std::int32_t>());
  }
  if (!once) mark(nullptr, col.as<std::int32_t>());
  const int64 count = col.size();
  std::vector<Part> arrays{{"indices", std::move(col)}, {"indptr", std::move(indptr)}};
  return {std::make_shared<const Indices>(common->name, a_.rows, b_.cols, std::move(arrays), count), products()};
}

}  // namespace diagsparse::cuda
