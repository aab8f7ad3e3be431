// The structure of a product of blocks and its pairs, from a sorted list of tasks. A task is a block n of A and a block
// m of B that are multiplied: block n is in row i and column j of blocks, block m in row j and column k.
//
//   T1  counts the blocks of each row of B
//   T2  from these, the tasks of each block of A
//   T3  from these, where the tasks of each block begin, and lists them: sorted by i, then j, then k
//   T4  sorts the list by the blocks (i, k) of C; a segmented sort first computes where each row begins
//   T5  creates a block of C for each (i, k), with its bitmap
//
//   list              a task is   T4
//   "triples"         (i, j, k)   one sort of the list; n and m are looked up afterwards, by bisection
//   "numbers"         (n, m)      one sort of the list
//   "segments"        (n, m)      a segmented sort, separately for each row i, because the list is already sorted by i
//   "adaptive"        (n, m)      segmented if the list is long, otherwise one sort: the thesis's rule
//   "short_segments"  (n, m)      segmented if the rows are short, otherwise one sort: the faster rule on an H200
//
// All sorts are stable, so the pairs of a block of C remain sorted by j. T5 drops tasks whose product has no elements,
// and blocks of C without tasks. While the list is sorted, it needs 48 bytes per task. The default kernel plans without
// a list, except for matrices with hubs (pairs.cu).
#include "device/bisection.cuh"
#include "entries/sorted_keys.cuh"
#include "formats/bmsparse/blocks.cuh"
#include "formats/bmsparse/tasks.cuh"

namespace diagsparse::cuda::bmsparse {

namespace {

// Mean number of tasks per row from which one sort of all is faster than a sort of each row. (H200, us: 36 tasks per
// row, 216 rows 65 and 24; 46 of them, 64 000 rows 283 and 136; 79, 160 000 rows 1090 and 19 200; 10^5, 8 rows 126 and
// 937.)
constexpr int64 kLongRow = 64;

// Number of tasks from which a list is long. The thesis does not state its threshold. According to its tables 3.3 to
// 3.5, one sort is faster for its three small matrices, whose squares have up to 3.4e5 tasks, and the segmented sort
// for the others, from 1.7e6 tasks on (counted on matrices with the same rows, nonzeros and blocks).
constexpr int64 kLongList = 1'000'000;

// Whether T4 sorts each row separately.
bool is_segmented(TaskList list, int64 tasks, int64 rows) {
  switch (list) {
    case TaskList::segments: return true;
    case TaskList::adaptive: return tasks > kLongList;
    case TaskList::short_segments: return tasks < kLongRow * rows;
    default: return false;
  }
}

__device__ int2 numbers_of(int64 task) {
  return make_int2(static_cast<int>(task >> 32), static_cast<int>(task & 0xffffffff));
}
__device__ int64 as_task(int n, int m) { return static_cast<int64>(n) << 32 | static_cast<unsigned>(m); }

// T1: for each row.
__global__ void __launch_bounds__(kBlock) count_blocks(const Rows b, std::int64_t* of_row) {
  const int64 j = thread_index();
  if (j < b.rows) of_row[j] = b.indptr[j + 1] - b.indptr[j];
}

// T2: for each block of A.
__global__ void __launch_bounds__(kBlock)
    gather_counts(const Rows a, int64 count, const std::int64_t* of_row, std::int64_t* tasks) {
  const int64 e = thread_index();
  if (e < count) tasks[e] = of_row[a.col[e]];
}

// T3: a group writes the tasks of a block of A.
__global__ void __launch_bounds__(kBlock) list_tasks(const Rows a, const Rows b, int64 count, const std::int64_t* ends,
                                                     bool triples, Key* keys, int64* tasks) {
  const int64 e = group_index();
  if (e >= count) return;
  const int64 i = bisect(1, a.rows, [&](int64 row) { return a.indptr[row] <= e; }) - 1;
  const std::int32_t j = a.col[e];
  const int64 to = e == 0 ? 0 : ends[e - 1], first = b.indptr[j];
  for (int64 t = threadIdx.x % kLanes; t < ends[e] - to; t += kLanes) {
    keys[to + t] = make_key(i, b.col[first + t]);
    tasks[to + t] = triples ? j : as_task(a.block(e), b.block(first + t));
  }
}

// T5, for triples: looks up the indices of the blocks.
__global__ void __launch_bounds__(kBlock)
    find_blocks(const Rows a, const Rows b, const Key* keys, int64 count, int64* tasks) {
  const int64 t = thread_index();
  if (t >= count) return;
  const auto find = [](const Rows& m, int64 row, int64 col) {
    return m.block(bisect(m.indptr[row], m.indptr[row + 1], [&](int64 f) { return m.col[f] < col; }));
  };
  const int64 j = tasks[t];
  tasks[t] =
      as_task(find(a, static_cast<int64>(keys[t] >> 32), j), find(b, j, static_cast<int64>(keys[t] & 0xffffffff)));
}

__global__ void __launch_bounds__(kBlock)
    mark_nonzero(const Rows a, const Rows b, const int64* tasks, int64 count, std::int64_t* nonzero) {
  const int64 t = thread_index();
  if (t >= count) return;
  const int2 pair = numbers_of(tasks[t]);
  nonzero[t] = has_product(transpose_if(a.transpose, a.stored[pair.x]), transpose_if(b.transpose, b.stored[pair.y]));
}

// Gathers the tasks whose product has elements. nonzero: the running sum of their marks.
__global__ void __launch_bounds__(kBlock) gather_nonzero(const Key* keys, const int64* tasks, int64 count,
                                                         const std::int64_t* nonzero, Key* nonzero_keys, int2* pairs) {
  const int64 t = thread_index();
  if (t >= count || nonzero[t] == (t == 0 ? 0 : nonzero[t - 1])) return;
  nonzero_keys[nonzero[t] - 1] = keys[t];
  pairs[nonzero[t] - 1] = numbers_of(tasks[t]);
}

__global__ void __launch_bounds__(kBlock) mark_first(const Key* keys, int64 count, std::int64_t* first) {
  const int64 t = thread_index();
  if (t < count) first[t] = t == 0 || keys[t] != keys[t - 1];
}

// The arrays that are written for C's blocks.
struct Reduced {
  Key* key;
  std::int32_t* col;
  std::int64_t* pair_begin;
};

__global__ void __launch_bounds__(kBlock)
    reduce_keys(const Key* keys, int64 count, const std::int64_t* first, const Reduced c) {
  const int64 t = thread_index();
  if (t >= count) return;
  if (t == count - 1) c.pair_begin[first[t]] = count;
  if (first[t] == (t == 0 ? 0 : first[t - 1])) return;
  const int64 p = first[t] - 1;
  c.key[p] = keys[t];
  c.col[p] = static_cast<std::int32_t>(keys[t] & 0xffffffff);
  c.pair_begin[p] = t;
}

__global__ void __launch_bounds__(kBlock)
    point_rows_of_keys(const Key* keys, int64 count, int64 rows, std::int64_t* indptr) {
  const int64 i = thread_index();
  if (i <= rows) indptr[i] = bisect(0, count, [&](int64 p) { return keys[p] < make_key(i, 0); });
}

// A group computes the bitmap of a block of C, and its number of values.
__global__ void __launch_bounds__(kBlock)
    reduce_bitmaps(const Rows a, const Rows b, int64 count, const std::int64_t* pair_begin, const int2* pairs,
                   Bitmap* bitmap, std::int64_t* values, unsigned long long* operations) {
  const int64 p = group_index();
  Bitmap found = 0;
  unsigned long long work = 0;
  if (p < count) {
    for (int64 t = pair_begin[p] + threadIdx.x % kLanes; t < pair_begin[p + 1]; t += kLanes) {
      const Bitmap of_a = transpose_if(a.transpose, a.stored[pairs[t].x]),
                   of_b = transpose_if(b.transpose, b.stored[pairs[t].y]);
      found |= product_of(of_a, of_b);
      work += multiply_adds(of_a, of_b);
    }
  }
  for (int step = 1; step < kLanes; step *= 2) found |= __shfl_xor_sync(kAllLanes, found, step);
  for (int step = 1; step < 32; step *= 2) work += __shfl_xor_sync(kAllLanes, work, step);
  if (threadIdx.x % 32 == 0 && work > 0) atomicAdd(operations, work);
  if (p >= count || threadIdx.x % kLanes > 0) return;
  bitmap[p] = found;
  values[p] = __popcll(found);
}

}  // namespace

TaskList task_list_of(const std::string& kernel) {
  if (kernel == "baseline") return TaskList::triples;
  if (kernel == "indexed") return TaskList::numbers;
  if (kernel == "segmented_sort") return TaskList::segments;
  if (kernel == "adaptive") return TaskList::adaptive;
  for (const char* name : {"short_segments", "cuda_cores", "tc_naive", "tc_2blk", "tc_2tsk"}) {
    if (kernel == name) return TaskList::short_segments;
  }
  return TaskList::none;
}

BlocksOfProduct blocks_by_tasks(const BlockOperand& left, const BlockOperand& right, TaskList list,
                                const Request& request) {
  const Rows a(left), b(right);
  const int64 of_a = left.blocks();

  const Scratch<std::int64_t> of_row(b.rows);
  launch("count blocks", count_blocks, blocks(b.rows), dim3(kBlock), b, of_row.get());
  request.on_stage("T1 count");

  const Scratch<std::int64_t> ends(of_a);
  launch("gather counts", gather_counts, blocks(of_a), dim3(kBlock), a, of_a, of_row.get(), ends.get());
  request.on_stage("T2 gather");

  const int64 count = inclusive_sum(ends.get(), ends.get(), of_a);
  Keys tasks(count);
  launch("list tasks", list_tasks, groups(of_a), dim3(kBlock), a, b, of_a, ends.get(), list == TaskList::triples,
         tasks.key(), tasks.position());
  request.on_stage("T3 list");

  if (is_segmented(list, count, a.rows)) {
    const Scratch<std::int64_t> begin(a.rows + 1);
    launch("point segments", point_rows_of_keys, blocks(a.rows + 1), dim3(kBlock), tasks.key(), count, a.rows,
           begin.get());
    request.on_stage("T4 segments");
    sort_segments(tasks, begin.get(), a.rows);
  } else {
    sort(tasks, 32 + width_in_bits(a.rows));
  }
  request.on_stage("T4 sort");

  if (list == TaskList::triples) {
    launch("find blocks", find_blocks, blocks(count), dim3(kBlock), a, b, tasks.key(), count, tasks.position());
  }
  const Scratch<std::int64_t> sums(count);
  launch("mark nonzero", mark_nonzero, blocks(count), dim3(kBlock), a, b, tasks.position(), count, sums.get());
  const int64 nonzero = inclusive_sum(sums.get(), sums.get(), count);
  const auto work = std::make_shared<BlockWork>();
  work->pairs = Array::empty(DType::i32, {2 * nonzero});
  auto* const pairs = reinterpret_cast<int2*>(work->pairs.data);
  const Scratch<Key> keys(nonzero);
  launch("gather nonzero", gather_nonzero, blocks(count), dim3(kBlock), tasks.key(), tasks.position(), count,
         sums.get(), keys.get(), pairs);
  launch("mark first", mark_first, blocks(nonzero), dim3(kBlock), keys.get(), nonzero, sums.get());
  const int64 of_c = inclusive_sum(sums.get(), sums.get(), nonzero);
  const Scratch<Key> block_keys(of_c);
  Array indptr = Array::empty(DType::i64, {a.rows + 1}), col = Array::empty(DType::i32, {of_c});
  Array bitmap = Array::empty(DType::u64, {of_c}), begin = Array::zeros(DType::i64, {of_c + 1});
  work->indptr = Array::zeros(DType::i64, {of_c + 1});
  auto* const pair_begin = work->indptr.as<std::int64_t>();
  launch("reduce keys", reduce_keys, blocks(nonzero), dim3(kBlock), keys.get(), nonzero, sums.get(),
         Reduced{block_keys.get(), col.as<std::int32_t>(), pair_begin});
  launch("point rows", point_rows_of_keys, blocks(a.rows + 1), dim3(kBlock), block_keys.get(), of_c, a.rows,
         indptr.as<std::int64_t>());
  const Array operations = Array::zeros(DType::u64, {1});
  auto* const values = begin.as<std::int64_t>() + 1;
  launch("reduce bitmaps", reduce_bitmaps, groups(of_c), dim3(kBlock), a, b, of_c, pair_begin, pairs,
         bitmap.as<Bitmap>(), values, operations.as<unsigned long long>());
  const int64 stored = inclusive_sum(values, values, of_c);
  work->multiply_adds = download(operations.as<const std::int64_t>(), 1)[0];
  request.on_stage("T5 reduce");
  return build_product(left, right, std::move(indptr), std::move(col), std::move(bitmap), std::move(begin), stored,
                       work);
}

}  // namespace diagsparse::cuda::bmsparse
