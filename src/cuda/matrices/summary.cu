// Statistics of a matrix for its conversion, computed on the device: only the results are copied to the host.
#include "core/compressed_rows.hpp"
#include "core/summary.hpp"
#include "core/symmetry.hpp"
#include "device/bisection.cuh"
#include "device/runs.cuh"
#include "device/values.cuh"
#include "entries/coordinates.cuh"
#include "entries/sorted_keys.cuh"

namespace diagsparse {

namespace cuda {
namespace {

// Elements of a diagonal from row `row` on.
struct RowRun {
  Elements elements;
  int64 row, length;
};

template <class T>
__global__ void __launch_bounds__(kBlock)
    count_by_rows(const T* values, const __grid_constant__ Runs<RowRun> runs, unsigned long long* counts) {
  const RowRun& run = runs.at[blockIdx.y];
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  for (int64 t = thread_index(); t < run.length; t += width) {
    if (!is_zero(values[run.elements.at(t)])) atomicAdd(counts + run.row + t, 1ull);
  }
}

__global__ void __launch_bounds__(kBlock) count_lines(const std::int64_t* indptr, int64 lines, Key* counts) {
  const int64 i = thread_index();
  if (i < lines) counts[i] = static_cast<Key>(indptr[i + 1] - indptr[i]);
}

constexpr int kGrouped = 64;  // entries of a row that are counted together with those of its neighbours
constexpr unsigned kWarp = 0xffffffffu;

// counts[d] = number of entries on diagonal d, counted from the lowest one. A warp processes 32 rows: the w-th entries
// of neighbouring rows are often on the same diagonal, and are added in one operation. The entries of a row beyond
// kGrouped are divided among the warp.
__global__ void __launch_bounds__(kBlock) count_entries(const Csr<float> a, unsigned* counts) {
  const int64 i = thread_index(), lowest = 1 - a.rows;
  const int lane = threadIdx.x % 32;
  int64 e = i < a.rows ? a.indptr[i] : 0;
  const int64 end = i < a.rows ? a.indptr[i + 1] : 0;
  for (int w = 0; w < kGrouped; ++w) {
    const unsigned more = __ballot_sync(kWarp, e < end);
    if (more == 0) return;
    if (e < end) {
      const int64 d = a.indices[e] - i - lowest;
      const unsigned peers = __match_any_sync(more, d);
      if (lane == __ffs(static_cast<int>(peers)) - 1) atomicAdd(counts + d, static_cast<unsigned>(__popc(peers)));
      ++e;
    }
    __syncwarp();
  }
  for (unsigned longer = __ballot_sync(kWarp, e < end); longer != 0; longer &= longer - 1) {
    const int owner_lane = __ffs(static_cast<int>(longer)) - 1;
    const int64 row = __shfl_sync(kWarp, i, owner_lane), last = __shfl_sync(kWarp, end, owner_lane);
    for (int64 at = __shfl_sync(kWarp, e, owner_lane) + lane; at < last; at += 32) {
      atomicAdd(counts + (a.indices[at] - row - lowest), 1u);
    }
  }
}

// counts[d] = 1 if there are entries on diagonal d: a warp processes a row. A benign race: all stores have the same
// value.
__global__ void __launch_bounds__(kBlock) mark_diagonals(const Csr<float> a, unsigned* counts) {
  const int64 i = thread_index() / 32;
  if (i >= a.rows) return;
  for (int64 e = a.indptr[i] + threadIdx.x % 32; e < a.indptr[i + 1]; e += 32) {
    unsigned* mark = counts + (a.indices[e] - i + a.rows - 1);
    if (*mark == 0) *mark = 1;
  }
}

// The same without a table: writes the diagonal of each entry.
__global__ void __launch_bounds__(kBlock)
    list_diagonals(const Csr<float> a, int64 count, const Coordinates positions, Key* diagonals) {
  const int64 e = thread_index();
  if (e < count) diagonals[e] = static_cast<Key>(a.indices[e] - positions.row_of(e) + a.rows - 1);
}

// heads[t] = 1 if the count in a table is not zero, or at the first occurrence of a number in a sorted list.
__global__ void __launch_bounds__(kBlock) mark_counted(const unsigned* counts, int64 size, std::int64_t* heads) {
  const int64 t = thread_index();
  if (t < size) heads[t] = counts[t] != 0;
}
__global__ void __launch_bounds__(kBlock) mark_first(const Key* sorted, int64 size, std::int64_t* heads) {
  const int64 t = thread_index();
  if (t < size) heads[t] = t == 0 || sorted[t] != sorted[t - 1];
}

// With the running sum of heads: the numbers that occur, and how often they do, or where they begin.
__global__ void __launch_bounds__(kBlock) compact_counts(const unsigned* counts, const std::int64_t* heads, int64 size,
                                                         std::int64_t* numbers, std::int64_t* times) {
  const int64 t = thread_index();
  if (t >= size || counts[t] == 0) return;
  numbers[heads[t] - 1] = t;
  times[heads[t] - 1] = counts[t];
}
__global__ void __launch_bounds__(kBlock) compact_heads(const Key* sorted, const std::int64_t* heads, int64 size,
                                                        std::int64_t* numbers, std::int64_t* begins) {
  const int64 t = thread_index();
  if (t >= size || (t > 0 && sorted[t] == sorted[t - 1])) return;
  numbers[heads[t] - 1] = static_cast<std::int64_t>(sorted[t]);
  begins[heads[t] - 1] = t;
}

// The first entry of row i whose column is not less than `column`; the end of the row if there is none.
template <class T>
__device__ int64 entry_from(const Csr<T>& a, int64 i, int64 column) {
  return bisect(a.indptr[i], a.indptr[i + 1], [&](int64 e) { return a.indices[e] < column; });
}

// A thread processes a row: found[0] and found[1] are the largest number and the sum of leading entries.
__global__ void __launch_bounds__(kBlock) add_leading(const Csr<float> a, Leading leading, unsigned long long* found) {
  const int64 i = thread_index();
  if (i >= a.rows) return;
  const int64 begin = a.indptr[i];
  const auto count = static_cast<unsigned long long>(leading.of(i, a.indices + begin, a.indptr[i + 1] - begin));
  atomicMax(found, count);
  atomicAdd(found + 1, count);
}

// Whether entry e, of row i, is the first one in its size x size block.
__device__ bool opens_block(const Csr<float>& a, int64 i, int64 e, int64 size) {
  const int64 column = a.indices[e] / size * size;
  if (e > a.indptr[i] && a.indices[e - 1] >= column) return false;
  for (int64 above = i - 1; above >= i / size * size; --above) {
    const int64 found = entry_from(a, above, column);
    if (found < a.indptr[above + 1] && a.indices[found] < column + size) return false;
  }
  return true;
}

__global__ void __launch_bounds__(kBlock)
    count_opened(const Csr<float> a, int64 count, const Coordinates positions, int64 size, unsigned long long* blocks) {
  const int64 e = thread_index();
  const int opened = __syncthreads_count(e < count && opens_block(a, positions.row_of(e), e, size));
  if (threadIdx.x == 0 && opened > 0) atomicAdd(blocks, static_cast<unsigned long long>(opened));
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    find_broken(const Csr<T> a, int64 count, const Coordinates positions, unsigned* broken) {
  const int64 e = thread_index();
  if (e >= count) return;
  const unsigned known = *static_cast<volatile unsigned*>(broken);
  if (known == kEverySymmetry) return;
  const T value = a.values[e];
  if (is_zero(value)) return;
  const int64 i = positions.row_of(e), j = a.indices[e], mirror = entry_from(a, j, i);
  const bool mirrored = mirror < a.indptr[j + 1] && a.indices[mirror] == i;
  const unsigned found = mirrored ? symmetries_broken_by(value, a.values[mirror]) : kEverySymmetry;
  if (found & ~known) atomicOr(broken, found);
}

Csr<float> structure_of(const Matrix& csr) {
  return {csr.rows, csr.cols, csr.index("indptr").as<int64>(), csr.index("indices").as<std::int32_t>(), nullptr};
}

// The numbers that occur, ascending, and how often each does; on the host.
struct Tally {
  std::vector<std::int64_t> numbers, times;
};

Tally tally_of_table(const unsigned* counts, int64 size) {
  const Scratch<std::int64_t> heads(size);
  launch("mark counted", mark_counted, blocks(size), dim3(kBlock), counts, size, heads.get());
  const int64 found = inclusive_sum(heads.get(), heads.get(), size);
  const Scratch<std::int64_t> numbers(found), times(found);
  launch("compact counts", compact_counts, blocks(size), dim3(kBlock), counts, heads.get(), size, numbers.get(),
         times.get());
  return {download(numbers.get(), found), download(times.get(), found)};
}

// For numbers below 2^bits in any order.
Tally tally_of_list(std::shared_ptr<void> list, int64 size, int bits) {
  sort_keys(list, size, bits);
  const auto* sorted = static_cast<const Key*>(list.get());
  const Scratch<std::int64_t> heads(size);
  launch("mark first", mark_first, blocks(size), dim3(kBlock), sorted, size, heads.get());
  const int64 found = inclusive_sum(heads.get(), heads.get(), size);
  const Scratch<std::int64_t> numbers(found), begins(found);
  launch("compact heads", compact_heads, blocks(size), dim3(kBlock), sorted, heads.get(), size, numbers.get(),
         begins.get());
  Tally result{download(numbers.get(), found), download(begins.get(), found)};
  for (int64 t = 0; t < found; ++t) result.times[t] = (t + 1 < found ? result.times[t + 1] : size) - result.times[t];
  return result;
}

// The diagonals that have entries, counted from the lowest one; the number of entries on each only if `counted`.
Tally tally_of_diagonals(const Matrix& csr, bool counted) {
  const int64 entries = csr.values.size();
  if (csr.rows == 0 || csr.cols == 0) return {};
  const Csr<float> a = structure_of(csr);
  const Coordinates positions = Coordinates::of(csr, {});
  if (!table_is_worthwhile(a.rows, a.cols, entries)) {
    const std::shared_ptr<void> list = allocate(entries * static_cast<int64>(sizeof(Key)));
    launch("list diagonals", list_diagonals, blocks(entries), dim3(kBlock), a, entries, positions,
           static_cast<Key*>(list.get()));
    return tally_of_list(list, entries, 33);  // rows + cols < 2^32
  }
  const int64 size = a.rows + a.cols - 1;
  const Scratch<unsigned> counts(size);
  CUDA_CALL(cudaMemsetAsync(counts.get(), 0, size * sizeof(unsigned), stream()));
  if (counted) launch("count on diagonals", count_entries, blocks(a.rows), dim3(kBlock), a, counts.get());
  else launch("mark diagonals", mark_diagonals, blocks(a.rows * 32), dim3(kBlock), a, counts.get());
  return tally_of_table(counts.get(), size);
}

}  // namespace
}  // namespace cuda

using namespace cuda;

RowLengths count_row_lengths(const Matrix& a, Op op) {
  const int64 rows = op.transposed ? a.cols : a.rows;
  const std::shared_ptr<void> lengths = allocate(rows * static_cast<int64>(sizeof(Key)));
  if (const auto* layout = dynamic_cast<const Layout*>(a.structure.get())) {
    CUDA_CALL(cudaMemsetAsync(lengths.get(), 0, rows * sizeof(Key), stream()));
    std::vector<RowRun> runs;
    for (const Span& s : packed_spans_of(*layout, op)) {
      runs.push_back({{s.start, s.phase, layout->packing.period}, s.row, s.length});
    }
    with_stored_type(a.dtype, [&](auto zero) {
      using T = decltype(zero);
      in_launches(runs, [&](dim3 grid, const Runs<RowRun>& part, std::size_t) {
        launch("count by rows", count_by_rows<T>, grid, dim3(kBlock), a.values.as<T>(), part,
               static_cast<unsigned long long*>(lengths.get()));
      });
    });
  } else {
    launch("count lines", count_lines, blocks(rows), dim3(kBlock), a.index("indptr").as<std::int64_t>(), rows,
           static_cast<Key*>(lengths.get()));
  }
  const Tally tally = tally_of_list(lengths, rows, 32);
  RowLengths found;
  for (std::size_t t = 0; t < tally.numbers.size(); ++t) found.emplace_back(tally.numbers[t], tally.times[t]);
  return found;
}

LeadingEntries count_leading(const Matrix& csr, Leading leading) {
  const Scratch<unsigned long long> found(2);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, 2 * sizeof(unsigned long long), stream()));
  launch("count leading", add_leading, blocks(csr.rows), dim3(kBlock), structure_of(csr), leading, found.get());
  const auto totals = download(static_cast<const unsigned long long*>(found.get()), 2);
  return {static_cast<int64>(totals[0]), static_cast<int64>(totals[1])};
}

std::vector<int64> find_occupied_diagonals(const Matrix& csr) {
  const Tally tally = tally_of_diagonals(csr, false);
  std::vector<int64> offsets(tally.numbers.begin(), tally.numbers.end());
  for (int64& offset : offsets) offset -= csr.rows - 1;
  return offsets;
}

std::vector<int64> count_on_diagonals(const Matrix& csr) {
  const Tally tally = tally_of_diagonals(csr, true);
  return {tally.times.begin(), tally.times.end()};
}

int64 count_blocks(const Matrix& csr, int64 size) {
  const int64 count = csr.values.size();
  const Scratch<unsigned long long> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, sizeof(unsigned long long), stream()));
  launch("count blocks", count_opened, blocks(count), dim3(kBlock), structure_of(csr), count, Coordinates::of(csr, {}),
         size, found.get());
  return static_cast<int64>(download(found.get(), 1)[0]);
}

unsigned broken_symmetries(const Matrix& csr) {
  const int64 count = csr.values.size();
  const Scratch<unsigned> broken(1);
  CUDA_CALL(cudaMemsetAsync(broken.get(), 0, sizeof(unsigned), stream()));
  with_value_type(csr.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("find symmetries", find_broken<T>, blocks(count), dim3(kBlock), Csr<T>::of(csr), count,
           Coordinates::of(csr, {}), broken.get());
  });
  return download(broken.get(), 1)[0];
}

}  // namespace diagsparse
