// Divides the rows of csr into chunks for thread blocks.
#include "device/resident.cuh"
#include "entries/coordinates.cuh"
#include "kernels/rows/chunks.hpp"

namespace diagsparse::cuda::rows {

namespace {

constexpr int kEntry = 4;                    // steps per entry, in chunks of complete rows
constexpr int64 kChunks = 1024, kFew = 256;  // chunks that fill a GPU; entries that are worth a block

// The number of steps of a chunk, and of an entry; the end of a row is one step. complete: chunks of complete rows.
struct Cut {
  int64 steps;
  int entry;
  bool complete;
};

__global__ void __launch_bounds__(kBlock)
    find_chunks(const std::int64_t* indptr, int64 rows, int64 count, const Cut cut, ChunkStart* first) {
  const int64 chunk = thread_index();
  if (chunk > count) return;
  const auto begin = [&](int64 i) { return cut.entry * indptr[i] + i; };
  const int64 all = begin(rows), step = min(chunk * cut.steps, all);
  const int64 next = bisect(0, rows, [&](int64 i) { return begin(i) < step; });  // the first row that begins at this
                                                                                 // step or later
  const bool within = next == rows || begin(next) > step;                        // the previous row continues here
  const int64 row = !cut.complete && within && step < all ? next - 1 : next;
  first[chunk] = {row, indptr[row]};
}

__global__ void __launch_bounds__(kBlock)
    find_longest(const std::int64_t* indptr, int64 rows, unsigned long long* longest) {
  const int64 i = thread_index();
  unsigned long long mine = i < rows ? static_cast<unsigned long long>(indptr[i + 1] - indptr[i]) : 0;
  for (int step = 16; step > 0; step /= 2) mine = max(mine, __shfl_down_sync(~0u, mine, step));
  if (threadIdx.x % 32 == 0) atomicMax(longest, mine);
}

// Rows begin within the first `most` entries of a chunk, so one more row of up to entries - most entries always fits.
Cut complete_rows(int64 rows, int64 nnz, int64 longest, int entries) {
  const int64 mean = nnz / std::max<int64>(rows, 1);
  const int64 most = std::max<int64>(entries - std::min(longest, 128 + mean), entries / 2);
  const int64 even = (nnz + rows / kEntry) / kChunks;
  return {kEntry * std::clamp(even, kFew, most), kEntry, true};
}

std::shared_ptr<ResidentChunks> divide(const std::int64_t* indptr, int64 rows, int64 nnz, int64 longest, Cut cut) {
  const auto result = std::make_shared<ResidentChunks>();
  result->longest = longest;
  result->count = ceil_div(cut.entry * nnz + rows, cut.steps);
  result->first = Array::empty(DType::i64, {2 * (result->count + 1)});
  launch("find chunks", find_chunks, blocks(result->count + 1), dim3(kBlock), indptr, rows, result->count, cut,
         result->first.as<ChunkStart>());
  return result;
}

// cut_of(rows, entries, longest row) determines how the rows are divided.
template <class CutOf>
std::shared_ptr<ResidentChunks> chunks_of(const Matrix& a, Op op, const std::string& name, const CutOf& cut_of) {
  // Other formats and the transpose may share this cache. The address of the pointers identifies the rows.
  const RowIndex index = rows_of(a, op.transposed);
  const std::string key = name + ", " + std::to_string(reinterpret_cast<std::uintptr_t>(index.indptr));
  return cached<ResidentChunks>(a.cache(), key.c_str(), [&] {
    const int64 rows = op.transposed ? a.cols : a.rows, nnz = a.structure->stored();
    const int64 longest = longest_of(index.indptr, rows);
    return divide(index.indptr, rows, nnz, longest, cut_of(rows, nnz, longest));
  });
}

}  // namespace

int64 longest_of(const std::int64_t* indptr, int64 rows) {
  const Scratch<unsigned long long> longest(1);
  CUDA_CALL(cudaMemsetAsync(longest.get(), 0, sizeof(unsigned long long), stream()));
  launch("find longest", find_longest, blocks(rows), dim3(kBlock), indptr, rows, longest.get());
  return static_cast<int64>(download(longest.get(), 1)[0]);
}

std::shared_ptr<ResidentChunks> chunks_of_steps(const Matrix& a, Op op, int steps) {
  return chunks_of(a, op, "chunks of " + std::to_string(steps) + " steps",
                   [&](int64, int64, int64) { return Cut{steps, 1, false}; });
}

std::shared_ptr<ResidentChunks> chunks_of_rows(const Matrix& a, Op op, int entries) {
  return chunks_of(a, op, "rows of " + std::to_string(entries) + " entries",
                   [&](int64 rows, int64 nnz, int64 longest) { return complete_rows(rows, nnz, longest, entries); });
}

std::shared_ptr<ResidentChunks> chunks_of_pointers(const std::int64_t* indptr, int64 rows, int64 entries, int most) {
  const int64 longest = longest_of(indptr, rows);
  return divide(indptr, rows, entries, longest, complete_rows(rows, entries, longest, most));
}

}  // namespace diagsparse::cuda::rows
