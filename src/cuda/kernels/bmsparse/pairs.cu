// The structure of a product of blocks on the GPU, and its pairs.
//
// First the columns of blocks that a row of C may have, its candidates: a block of threads takes a row, and marks the
// columns of all rows of B that it asks for in a set of bits in shared memory, a window of columns at a time; once to
// count them, once to write them in order. (Where rows reach over very many columns for what they have in them, the
// columns are sorted instead, as for csr.)
// Then a group takes a candidate: each of its threads takes every eighth block of A's row and looks for its partner in
// the row of B that it picks. Where A's rows are long, the shorter one of A's row and B's column is walked, and partners
// are looked for in A's row. The first pass counts pairs and finds the elements that they reach; the second one, once
// it is known where each block's pairs and values begin, writes them. Candidates that no pair reaches are left out.
#include "core/plan.hpp"
#include "device/bisection.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/csr.hpp"
#include "kernels/bmsparse/blocks.cuh"

namespace diagsparse {

namespace cuda::bitmaps {

namespace {

// ---- Candidates -----------------------------------------------------------------------------------
constexpr int kWords = 4096;              // of the set of bits
constexpr int kWindow = 32 * kWords;      // columns of blocks
constexpr int kUnion = 128, kWarps = kUnion / 32;  // threads and warps that take a row

// The columns of a row of C, kWindow of them at a time.
struct Window {
  unsigned bits[kWords];
  int low, high;  // of all columns of the row
  int of_warp[kWarps];

  // Where the row begins and ends; high < low without columns.
  __device__ void find_reach(const Rows& a, const Rows& b, int64 i) {
    if (threadIdx.x == 0) low = 0x7fffffff, high = -1;
    __syncthreads();
    for (int64 e = a.indptr[i] + threadIdx.x; e < a.indptr[i + 1]; e += kUnion) {
      const int64 begin = b.indptr[a.col[e]], end = b.indptr[a.col[e] + 1];
      if (begin == end) continue;
      atomicMin(&low, b.col[begin]);
      atomicMax(&high, b.col[end - 1]);
    }
    __syncthreads();
  }

  // Marks the columns from `first` on; returns how many words there are.
  __device__ int mark(const Rows& a, const Rows& b, int64 i, int64 first) {
    const int words = static_cast<int>(min(static_cast<int64>(kWords), (high - first) / 32 + 1));
    for (int w = threadIdx.x; w < words; w += kUnion) bits[w] = 0;
    __syncthreads();
    const bool whole = high - low < kWindow;
    for (int64 e = a.indptr[i] + threadIdx.x / 32; e < a.indptr[i + 1]; e += kWarps) {
      const int64 row = b.indptr[a.col[e]], end = b.indptr[a.col[e] + 1];
      const int64 begin = whole ? row : bisect(row, end, [&](int64 f) { return b.col[f] < first; });
      for (int64 f = begin + threadIdx.x % 32; f < end; f += 32) {
        const int64 at = b.col[f] - first;
        if (at >= kWindow) break;
        atomicOr(&bits[at / 32], 1u << at % 32);
      }
    }
    __syncthreads();
    return words;
  }
};

// counts: of the columns of each row, and behind them of the searches that finding its pairs takes.
__global__ void __launch_bounds__(kUnion) count_columns(const Rows a, const Rows b, std::int64_t* counts) {
  __shared__ Window window;
  const int64 i = blockIdx.x;
  window.find_reach(a, b, i);
  int count = 0;
  for (int64 first = window.low; first <= window.high; first += kWindow) {
    const int words = window.mark(a, b, i, first);
    for (int w = threadIdx.x; w < words; w += kUnion) count += __popc(window.bits[w]);
    __syncthreads();
  }
  for (int step = 16; step > 0; step /= 2) count += __shfl_down_sync(kAllLanes, count, step);
  if (threadIdx.x % 32 == 0) window.of_warp[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    int64 sum = 0;
    for (int warp = 0; warp < kWarps; ++warp) sum += window.of_warp[warp];
    counts[i] = sum;
    counts[a.rows + i] = sum * (a.indptr[i + 1] - a.indptr[i]);
  }
}

__global__ void __launch_bounds__(kUnion)
    write_columns(const Rows a, const Rows b, const std::int64_t* indptr, std::int32_t* col) {
  __shared__ Window window;
  const int64 i = blockIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  window.find_reach(a, b, i);
  int64 to = indptr[i];
  for (int64 first = window.low; first <= window.high; first += kWindow) {
    const int words = window.mark(a, b, i, first);
    for (int base = 0; base < words; base += kUnion) {
      const int w = base + static_cast<int>(threadIdx.x);
      unsigned set = w < words ? window.bits[w] : 0;
      int before = __popc(set);
      for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(kAllLanes, before, step);
        if (lane >= step) before += below;
      }
      if (lane == 31) window.of_warp[warp] = before;
      __syncthreads();
      int64 at = to + before - __popc(set);
      for (int other = 0; other < kWarps; ++other) {
        if (other < warp) at += window.of_warp[other];
        to += window.of_warp[other];
      }
      for (; set != 0; set &= set - 1) col[at++] = static_cast<std::int32_t>(first + 32 * w + __ffs(set) - 1);
      __syncthreads();
    }
  }
}

// How many words all rows have to look through, at most.
int64 most_words(const BlockOperand& a, const BlockOperand& b) { return a.pattern.rows * ceil_div(b.pattern.cols, 32); }

// The candidates of all rows, as csr keeps columns, and how many searches their pairs take.
struct Found {
  Array indptr, col;
  int64 searches;
};

Found candidates(const BlockOperand& left, const BlockOperand& right) {
  constexpr int64 few = int64{1} << 32;  // words, which are looked through in half a millisecond
  const int64 rows = left.pattern.rows;
  if (rows == 0 || most_words(left, right) > few) {
    const RowsOfProduct sorted = product_rows(left.pattern, right.pattern);
    return {sorted.structure->at("indptr"), sorted.structure->at("indices"), sorted.products};
  }
  const Rows a(left), b(right);
  const Array counts = Array::zeros(DType::i64, {2 * rows + 1});
  auto* const sums = counts.as<std::int64_t>();
  const dim3 grid(static_cast<unsigned>(rows));
  launch("count columns", count_columns, grid, dim3(kUnion), a, b, sums + 1);
  running_sum(sums, sums, counts.size());
  std::int64_t last[2];
  CUDA_CALL(cudaMemcpy2DAsync(last, 8, sums + rows, 8 * rows, 8, 2, cudaMemcpyDeviceToHost, stream()));
  CUDA_CALL(cudaStreamSynchronize(stream()));
  Array col = Array::empty(DType::i32, {last[0]});
  launch("write columns", write_columns, grid, dim3(kUnion), a, b, sums, col.as<std::int32_t>());
  return {counts.slice(0, {rows + 1}), std::move(col), last[1] - last[0]};
}

// ---- Pairs ----------------------------------------------------------------------------------------
// The candidates, row by row.
struct Candidates {
  int64 rows, count;
  const std::int64_t* indptr;
  const std::int32_t* col;
};

// What a thread finds of a pair.
struct Pair {
  std::int32_t a = 0, b = 0;
  Bitmap of_a = 0, of_b = 0;
  bool met = false;
};

// Where the pairs of a candidate are looked for.
struct Search {
  Rows a, b;
  Rows by_column;  // the columns of B, where A's rows are long
  bool long_rows;

  // Entries to walk, of A's row i or of B's column j.
  struct Walk {
    int64 begin, end;
    bool of_b;
  };
  __device__ Walk walk(int64 i, std::int32_t j) const {
    const Walk row{a.indptr[i], a.indptr[i + 1], false};
    if (!long_rows) return row;
    const Walk column{by_column.indptr[j], by_column.indptr[j + 1], true};
    return column.end - column.begin < row.end - row.begin ? column : row;
  }
  // The pair of entry e of the walk, if there is one.
  __device__ Pair pair_at(const Walk& walk, int64 e, int64 i, std::int32_t j) const {
    const Rows& other = walk.of_b ? a : b;
    const std::int32_t k = walk.of_b ? by_column.col[e] : a.col[e], sought = walk.of_b ? k : j;
    const int64 row = walk.of_b ? i : k, end = other.indptr[row + 1];
    const int64 g = bisect(other.indptr[row], end, [&](int64 f) { return other.col[f] < sought; });
    if (g == end || other.col[g] != sought) return {};
    Pair pair = walk.of_b ? Pair{a.block(g), by_column.block(e), a.bitmap(g), by_column.bitmap(e)}
                          : Pair{a.block(e), b.block(g), a.bitmap(e), b.bitmap(g)};
    pair.met = meet(pair.of_a, pair.of_b);
    return pair;
  }
};

__device__ int multiply_adds(Bitmap a, Bitmap b) {
  int count = 0;
  for (int k = 0; k < kLanes; ++k) count += __popcll(a & kFirstColumn >> k) * __popc(row_bits(b, k));
  return count;
}

// What is counted of each candidate, one array after the other.
enum Counted { is_reached, of_pairs, of_values, of_multiply_adds, kCounted };

// A block of threads takes a row, a group every sixteenth candidate of it.
__global__ void __launch_bounds__(kUnion)
    count_pairs(const __grid_constant__ Search search, const Candidates c, Bitmap* bitmap, std::int64_t* counts) {
  const int lane = threadIdx.x % kLanes;
  const int64 i = blockIdx.x;
  for (int64 s = c.indptr[i] + threadIdx.x / kLanes; s < c.indptr[i + 1]; s += kUnion / kLanes) {
    Bitmap found = 0;
    int pairs = 0;
    unsigned long long operations = 0;
    const auto walk = search.walk(i, c.col[s]);
    for (int64 e = walk.begin + lane; e < walk.end; e += kLanes) {
      const Pair pair = search.pair_at(walk, e, i, c.col[s]);
      if (!pair.met) continue;
      found |= product_of(pair.of_a, pair.of_b);
      operations += multiply_adds(pair.of_a, pair.of_b);
      ++pairs;
    }
    __syncwarp(group_lanes());
    for (int step = 1; step < kLanes; step *= 2) {
      found |= __shfl_xor_sync(group_lanes(), found, step);
      pairs += __shfl_xor_sync(group_lanes(), pairs, step);
      operations += __shfl_xor_sync(group_lanes(), operations, step);
    }
    if (lane > 0) continue;
    bitmap[s] = found;
    counts[is_reached * c.count + s] = found != 0;
    counts[of_pairs * c.count + s] = pairs;
    counts[of_values * c.count + s] = __popcll(found);
    counts[of_multiply_adds * c.count + s] = operations;
  }
}

// How many blocks, pairs and values there are.
struct Totals {
  int64 blocks, pairs, values, multiply_adds;
};

// What is written of the blocks that are kept.
struct Kept {
  std::int32_t* col;
  Bitmap* bitmap;
  std::int64_t *begin, *pair_begin;
  int2* pairs;
};

// sums: the running sums of all counts, one array after the other.
__global__ void __launch_bounds__(kUnion)
    write_pairs(const __grid_constant__ Search search, const Candidates c, const Bitmap* bitmap,
                const std::int64_t* sums, const Totals totals, const Kept kept) {
  const int lane = threadIdx.x % kLanes, shift = threadIdx.x % 32 - lane;
  const int64 i = blockIdx.x;
  for (int64 s = c.indptr[i] + threadIdx.x / kLanes; s < c.indptr[i + 1]; s += kUnion / kLanes) {
    if (bitmap[s] == 0) continue;
    const int64 p = sums[s] - 1;
    int64 to = sums[of_pairs * c.count + s - 1] - totals.blocks;
    if (lane == 0) {
      kept.col[p] = c.col[s];
      kept.bitmap[p] = bitmap[s];
      kept.begin[p] = sums[of_values * c.count + s - 1] - totals.blocks - totals.pairs;
      kept.pair_begin[p] = to;
    }
    const auto walk = search.walk(i, c.col[s]);
    for (int64 first = walk.begin; first < walk.end; first += kLanes) {
      Pair pair;
      if (first + lane < walk.end) pair = search.pair_at(walk, first + lane, i, c.col[s]);
      const unsigned met = __ballot_sync(group_lanes(), pair.met) >> shift & 0xffu;
      if (pair.met) kept.pairs[to + __popc(met & ((1u << lane) - 1))] = make_int2(pair.a, pair.b);
      to += __popc(met);
    }
  }
}

__global__ void __launch_bounds__(kBlock)
    point_kept(const Candidates c, const std::int64_t* sums, const Totals totals, const Kept kept,
               std::int64_t* indptr) {
  const int64 i = thread_index();
  if (i > c.rows) return;
  if (i == 0) {
    kept.begin[totals.blocks] = totals.values;
    kept.pair_begin[totals.blocks] = totals.pairs;
  }
  indptr[i] = c.indptr[i] > 0 ? sums[c.indptr[i] - 1] : 0;
}

Totals totals_of(const std::int64_t* sums, int64 count) {
  if (count == 0) return {};
  std::int64_t last[kCounted];
  CUDA_CALL(cudaMemcpy2DAsync(last, 8, sums + count - 1, 8 * count, 8, kCounted, cudaMemcpyDeviceToHost, stream()));
  CUDA_CALL(cudaStreamSynchronize(stream()));
  return {last[0], last[1] - last[0], last[2] - last[1], last[3] - last[2]};
}

}  // namespace

}  // namespace cuda::bitmaps

using namespace cuda;
using namespace cuda::bitmaps;

BlocksOfProduct blocks_of_product(const BlockOperand& left, const BlockOperand& right) {
  constexpr int64 kLong = 24;  // searches for a candidate from which B's columns are worth an index
  const Found found = candidates(left, right);
  const Candidates c{left.pattern.rows, found.col.size(), found.indptr.as<std::int64_t>(),
                     found.col.as<std::int32_t>()};
  const bool long_rows = found.searches > kLong * c.count;
  // The columns of op(B) are the rows of its transpose; their blocks are turned as B's are.
  const BlockOperand columns(right.structure, {long_rows ? !right.op.transposed : right.op.transposed, false});
  Search search{Rows(left), Rows(right), Rows(columns), long_rows};
  search.by_column.turn = right.op.transposed;
  const Scratch<Bitmap> bitmap(c.count);
  const Scratch<std::int64_t> counts(kCounted * c.count);
  const dim3 grid(static_cast<unsigned>(c.rows));
  launch("count pairs", count_pairs, grid, dim3(kUnion), search, c, bitmap.get(), counts.get());
  running_sum(counts.get(), counts.get(), kCounted * c.count);
  const Totals totals = totals_of(counts.get(), c.count);
  const auto work = std::make_shared<BlockWork>();
  work->multiply_adds = totals.multiply_adds;
  work->indptr = Array::empty(DType::i64, {totals.blocks + 1});
  work->pairs = Array::empty(DType::i32, {2 * totals.pairs});
  Array indptr = Array::empty(DType::i64, {c.rows + 1}), col = Array::empty(DType::i32, {totals.blocks});
  Array stored = Array::empty(DType::u64, {totals.blocks}), begin = Array::empty(DType::i64, {totals.blocks + 1});
  const bitmaps::Kept kept{col.as<std::int32_t>(), stored.as<Bitmap>(), begin.as<std::int64_t>(),
                           work->indptr.as<std::int64_t>(), reinterpret_cast<int2*>(work->pairs.data)};
  launch("write pairs", write_pairs, grid, dim3(kUnion), search, c, bitmap.get(), counts.get(), totals, kept);
  launch("point rows", point_kept, blocks(c.rows + 1), dim3(kBlock), c, counts.get(), totals, kept,
         indptr.as<std::int64_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // the plan may run in any stream
  const int64 rows = left.op.transposed ? left.structure.cols : left.structure.rows;
  const int64 cols = right.op.transposed ? right.structure.rows : right.structure.cols;
  return {bmsparse_structure(rows, cols, std::move(indptr), std::move(col), std::move(stored), std::move(begin),
                             totals.values),
          work};
}

}  // namespace diagsparse
