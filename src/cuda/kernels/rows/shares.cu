#include "kernels/rows/shares.hpp"

#include "device/resident.cuh"
#include "entries/coordinates.cuh"

namespace diagsparse::cuda::rows {

namespace {

__global__ void __launch_bounds__(kBlock)
    find_first(const std::int64_t* indptr, int64 rows, int64 count, int each, Cut cut, std::int64_t* first) {
  const int64 share = thread_index();
  if (share > count) return;
  const int64 step = min(share * each, indptr[rows] + rows);
  const int64 next = bisect(0, rows, [&](int64 i) { return indptr[i] + i < step; });  // the first to begin there
  const bool within = next == rows || indptr[next] + next > step;                     // a row that began before goes on
  first[share] = cut == Cut::steps && within && step < indptr[rows] + rows ? next - 1 : next;
}

__global__ void __launch_bounds__(kBlock)
    find_longest(const std::int64_t* indptr, int64 rows, unsigned long long* longest) {
  const int64 i = thread_index();
  unsigned long long mine = i < rows ? static_cast<unsigned long long>(indptr[i + 1] - indptr[i]) : 0;
  for (int step = 16; step > 0; step /= 2) mine = max(mine, __shfl_down_sync(~0u, mine, step));
  if (threadIdx.x % 32 == 0) atomicMax(longest, mine);
}

}  // namespace

std::shared_ptr<ResidentShares> shares_of(const Matrix& a, Op op, int each, Cut cut) {
  // Other formats, and the transpose, may share what is kept: the index says whose rows these are.
  const RowIndex index = rows_of(a, op.transposed);
  const std::string key = std::string(cut == Cut::rows ? "whole" : "cut") + " shares of " + std::to_string(each) +
                          ", " + std::to_string(reinterpret_cast<std::uintptr_t>(index.indptr));
  return keep<ResidentShares>(a.kept(), key.c_str(), [&] {
    const auto made = std::make_shared<ResidentShares>();
    const int64 rows = op.transposed ? a.cols : a.rows;
    made->count = ceil_div(rows + a.values.size(), each);
    made->first = Array::empty(DType::i64, {made->count + 1});
    launch("find shares", find_first, blocks(made->count + 1), dim3(kBlock), index.indptr, rows, made->count, each, cut,
           made->first.as<std::int64_t>());
    const Scratch<unsigned long long> longest(1);
    CUDA_CALL(cudaMemsetAsync(longest.get(), 0, sizeof(unsigned long long), stream()));
    launch("find longest", find_longest, blocks(rows), dim3(kBlock), index.indptr, rows, longest.get());
    made->longest = static_cast<int64>(download(longest.get(), 1)[0]);
    return made;
  });
}

}  // namespace diagsparse::cuda::rows
