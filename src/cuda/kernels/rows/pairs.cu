// Lists of the terms of each sum: where they end, and which sums have many terms.
#include "kernels/rows/pairs.cuh"

namespace diagsparse::cuda::rows {

namespace {

// Counts the sums with many terms, and lists them in any order if `out` is not null.
__global__ void __launch_bounds__(kBlock)
    find_many(const std::int32_t* first, int64 count, int* found, std::int32_t* out) {
  const int64 c = thread_index();
  if (c >= count || first[c + 1] - first[c] <= kMany) return;
  const int at = atomicAdd(found, 1);
  if (out) out[at] = static_cast<std::int32_t>(c);
}

}  // namespace

void end_lists(const Array& first, int64 terms) {
  const auto last = static_cast<std::int32_t>(terms);
  CUDA_CALL(cudaMemcpyAsync(first.as<std::int32_t>() + first.size() - 1, &last, sizeof last, cudaMemcpyHostToDevice,
                            stream()));
}

Array lists_with_many(const Array& first, int64 count) {
  const auto* const begins = first.as<const std::int32_t>();
  const Scratch<int> found(2);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0, 2 * sizeof(int), stream()));
  launch("find many", find_many, blocks(count), dim3(kBlock), begins, count, found.get(), nullptr);
  Array many = Array::empty(DType::i32, {download(static_cast<const int*>(found.get()), 1)[0]});
  if (many.size() > 0) {
    launch("find many", find_many, blocks(count), dim3(kBlock), begins, count, found.get() + 1,
           many.as<std::int32_t>());
  }
  return many;
}

}  // namespace diagsparse::cuda::rows
