// The structure of a product of blocks on the GPU, and its pairs.
//
// The columns of blocks that a row of C may have, its candidates, are determined as for csr. A group processes a
// candidate: each of its threads takes every eighth block of A's row and searches the corresponding row of B for its
// partner. If A's rows are long, the threads iterate over the shorter one of A's row and B's column, and may search A's
// row for partners. The first pass counts pairs and computes the bitmaps of their products. From these follows where
// the pairs and values of each block begin, and the second pass writes them. Candidates without pairs are dropped.
#include <optional>

#include "core/plan.hpp"
#include "device/bisection.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/bmsparse/blocks.cuh"
#include "formats/bmsparse/tasks.cuh"

namespace diagsparse {

namespace cuda::bmsparse {

namespace {

constexpr int kUnion = 128;  // threads that process a row of candidates

// The candidates, row by row.
struct Candidates {
  int64 rows, count;
  const std::int64_t* indptr;
  const std::int32_t* col;
};

// A pair that a thread has found, and whether its product has any elements.
struct Pair {
  std::int32_t a = 0, b = 0;
  Bitmap of_a = 0, of_b = 0;
  bool nonzero = false;
};

// Where the pairs of a candidate are searched for.
struct Search {
  Rows a, b;
  Rows by_column;  // the columns of B, used if A's rows are long
  bool long_rows;

  // A range of entries of A's row i or of B's column j.
  struct Traversal {
    int64 begin, end;
    bool of_b;
  };
  __device__ Traversal traversal(int64 i, std::int32_t j) const {
    const Traversal row{a.indptr[i], a.indptr[i + 1], false};
    if (!long_rows) return row;
    const Traversal column{by_column.indptr[j], by_column.indptr[j + 1], true};
    return column.end - column.begin < row.end - row.begin ? column : row;
  }
  // The pair of entry e of the traversal; empty if there is none.
  __device__ Pair pair_at(const Traversal& traversal, int64 e, int64 i, std::int32_t j) const {
    const Rows& other = traversal.of_b ? a : b;
    const std::int32_t k = traversal.of_b ? by_column.col[e] : a.col[e], sought = traversal.of_b ? k : j;
    const int64 row = traversal.of_b ? i : k, end = other.indptr[row + 1];
    const int64 g = bisect(other.indptr[row], end, [&](int64 f) { return other.col[f] < sought; });
    if (g == end || other.col[g] != sought) return {};
    Pair pair = traversal.of_b ? Pair{a.block(g), by_column.block(e), a.bitmap(g), by_column.bitmap(e)}
                               : Pair{a.block(e), b.block(g), a.bitmap(e), b.bitmap(g)};
    pair.nonzero = has_product(pair.of_a, pair.of_b);
    return pair;
  }
};

// What is counted for each candidate, one array after the other.
enum Counted { is_reached, of_pairs, of_values, of_multiply_adds, kCounted };

// A thread block processes a row, a group every sixteenth candidate of it.
__global__ void __launch_bounds__(kUnion)
    count_pairs(const __grid_constant__ Search search, const Candidates c, Bitmap* bitmap, std::int64_t* counts) {
  const int lane = threadIdx.x % kLanes;
  const int64 i = blockIdx.x;
  for (int64 s = c.indptr[i] + threadIdx.x / kLanes; s < c.indptr[i + 1]; s += kUnion / kLanes) {
    Bitmap found = 0;
    int pairs = 0;
    unsigned long long operations = 0;
    const auto traversal = search.traversal(i, c.col[s]);
    for (int64 e = traversal.begin + lane; e < traversal.end; e += kLanes) {
      const Pair pair = search.pair_at(traversal, e, i, c.col[s]);
      if (!pair.nonzero) continue;
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

// The numbers of blocks, pairs and values.
struct Totals {
  int64 blocks, pairs, values, multiply_adds;
};

// The arrays that are written for the blocks of C that have values.
struct StoredBlocks {
  std::int32_t* col;
  Bitmap* bitmap;
  std::int64_t *begin, *pair_begin;
  int2* pairs;
};

// sums: the running sums of all counts, one array after the other.
__global__ void __launch_bounds__(kUnion)
    write_pairs(const __grid_constant__ Search search, const Candidates c, const Bitmap* bitmap,
                const std::int64_t* sums, const Totals totals, const StoredBlocks c_blocks) {
  const int lane = threadIdx.x % kLanes, shift = threadIdx.x % 32 - lane;
  const int64 i = blockIdx.x;
  for (int64 s = c.indptr[i] + threadIdx.x / kLanes; s < c.indptr[i + 1]; s += kUnion / kLanes) {
    if (bitmap[s] == 0) continue;
    const int64 p = sums[s] - 1;
    int64 to = sums[of_pairs * c.count + s - 1] - totals.blocks;
    if (lane == 0) {
      c_blocks.col[p] = c.col[s];
      c_blocks.bitmap[p] = bitmap[s];
      c_blocks.begin[p] = sums[of_values * c.count + s - 1] - totals.blocks - totals.pairs;
      c_blocks.pair_begin[p] = to;
    }
    const auto traversal = search.traversal(i, c.col[s]);
    for (int64 first = traversal.begin; first < traversal.end; first += kLanes) {
      Pair pair;
      if (first + lane < traversal.end) pair = search.pair_at(traversal, first + lane, i, c.col[s]);
      const unsigned nonzero = __ballot_sync(group_lanes(), pair.nonzero) >> shift & 0xffu;
      if (pair.nonzero) c_blocks.pairs[to + __popc(nonzero & ((1u << lane) - 1))] = make_int2(pair.a, pair.b);
      to += __popc(nonzero);
    }
  }
}

__global__ void __launch_bounds__(kBlock)
    point_rows_of_union(const Candidates c, const std::int64_t* sums, const Totals totals, const StoredBlocks c_blocks,
                        std::int64_t* indptr) {
  const int64 i = thread_index();
  if (i > c.rows) return;
  if (i == 0) {
    c_blocks.begin[totals.blocks] = totals.values;
    c_blocks.pair_begin[totals.blocks] = totals.pairs;
  }
  indptr[i] = c.indptr[i] > 0 ? sums[c.indptr[i] - 1] : 0;
}

// Counts the blocks that are visited for the candidates of a row; a thread block processes a row.
__global__ void __launch_bounds__(kUnion)
    count_searches(const __grid_constant__ Search search, const Candidates c, unsigned long long* searches) {
  const int64 i = blockIdx.x, begin = c.indptr[i], end = c.indptr[i + 1];
  unsigned long long mine = 0;
  if (!search.long_rows) {
    if (threadIdx.x == 0) mine = (end - begin) * (search.a.indptr[i + 1] - search.a.indptr[i]);
  } else {
    for (int64 s = begin + threadIdx.x; s < end; s += kUnion) {
      const auto traversal = search.traversal(i, c.col[s]);
      mine += traversal.end - traversal.begin;
    }
  }
  for (int step = 16; step > 0; step /= 2) mine += __shfl_down_sync(kAllLanes, mine, step);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(searches, mine);
}

int64 searches(const Search& search, const Candidates& c) {
  const Array count = Array::zeros(DType::u64, {1});
  launch("count searches", count_searches, dim3(static_cast<unsigned>(c.rows)), dim3(kUnion), search, c,
         count.as<unsigned long long>());
  return download(count.as<const std::int64_t>(), 1)[0];
}

Totals totals_of(const std::int64_t* sums, int64 count) {
  if (count == 0) return {};
  std::int64_t last[kCounted];
  for (int what = 0; what < kCounted; ++what) {
    CUDA_CALL(cudaMemcpyAsync(last + what, sums + (what + 1) * count - 1, 8, cudaMemcpyDeviceToHost, stream()));
  }
  CUDA_CALL(cudaStreamSynchronize(stream()));
  return {last[0], last[1] - last[0], last[2] - last[1], last[3] - last[2]};
}

}  // namespace

}  // namespace cuda::bmsparse

using namespace cuda;
using namespace cuda::bmsparse;

BlocksOfProduct blocks_of_product(const BlockOperand& left, const BlockOperand& right, const Request& request) {
  if (const TaskList list = task_list_of(request.kernel); list != TaskList::none) {
    return blocks_by_tasks(left, right, list, request);
  }
  constexpr int64 kLong = 24;          // searches per candidate from which an index of B's columns is worthwhile
  constexpr int64 kMostSearches = 16;  // searches per pair above which a sorted list of tasks is faster
  const RowsOfProduct found = product_rows(left.pattern(), right.pattern());
  request.on_stage("candidates");
  const Candidates c{left.rows, found.structure->stored(), found.structure->at("indptr").as<std::int64_t>(),
                     found.structure->at("indices").as<std::int32_t>()};
  Search search{Rows(left), Rows(right), Rows(right), false};
  int64 needed = searches(search, c);
  std::optional<BlockOperand> columns;
  if (needed > kLong * c.count) {
    // The columns of op(B) are the rows of its transpose; their blocks are transposed if those of op(B) are.
    search.by_column = Rows(columns.emplace(right.structure, Op{!right.op.transposed, false}));
    search.by_column.transpose = right.op.transposed;
    search.long_rows = true;
    needed = searches(search, c);
  }
  if (needed > kMostSearches * found.products && kBytesOfTask * found.products < memory(current_device()).free / 2) {
    return blocks_by_tasks(left, right, TaskList::short_segments, request);
  }
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
  const bmsparse::StoredBlocks c_blocks{col.as<std::int32_t>(), stored.as<Bitmap>(), begin.as<std::int64_t>(),
                                        work->indptr.as<std::int64_t>(), reinterpret_cast<int2*>(work->pairs.data)};
  launch("write pairs", write_pairs, grid, dim3(kUnion), search, c, bitmap.get(), counts.get(), totals, c_blocks);
  launch("point rows", point_rows_of_union, blocks(c.rows + 1), dim3(kBlock), c, counts.get(), totals, c_blocks,
         indptr.as<std::int64_t>());
  CUDA_CALL(cudaStreamSynchronize(stream()));  // because the plan may run in any stream
  request.on_stage("pairs");
  return build_product(left, right, std::move(indptr), std::move(col), std::move(stored), std::move(begin),
                       totals.values, work);
}

}  // namespace diagsparse
