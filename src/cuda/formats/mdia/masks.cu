// The masks of a product of masked diagonals on the GPU (formats/mdia/products.hpp).
#include "formats/mdia/masks.cuh"

namespace diagsparse {

namespace cuda::mdia {

namespace {

// A warp processes a block of rows of C. For one diagonal of A, the diagonals of C are all different.
__global__ void __launch_bounds__(kBlock)
    find_masks(const MaskedOperand<char> a, const MaskedDiagonal* of_a, int count_a, const MaskedOperand<char> b,
               const MaskedDiagonal* of_b, int count_b, const std::int32_t* to, int64 blocks, int64 diagonals,
               Mask* mask, unsigned long long* multiply_adds) {
  const int64 block = thread_index() / 32;
  if (block >= blocks) return;
  const int lane = threadIdx.x % 32;
  unsigned long long terms = 0;
  for (int i = 0; i < count_a; ++i) {
    const MaskedDiagonal left = of_a[i];
    const Mask rows = a.mask(left, kMaskRows * block);
    if (rows == 0) continue;
    for (int j = lane; j < count_b; j += 32) {
      const std::int32_t target = to[static_cast<int64>(i) * count_b + j];
      if (target < 0) continue;
      const Mask both = rows & b.mask(of_b[j], kMaskRows * block + left.offset);
      if (both == 0) continue;
      mask[block * diagonals + target] |= both;
      terms += __popc(both);
    }
    __syncwarp();
  }
  for (int step = 16; step > 0; step /= 2) terms += __shfl_down_sync(~0u, terms, step);
  if (lane == 0 && terms > 0) atomicAdd(multiply_adds, terms);
}

// A thread processes a column of the masks, and every gridDim.y-th block.
__global__ void __launch_bounds__(kBlock) mark_columns(const Mask* mask, int64 blocks, int64 diagonals, int* used) {
  const int64 d = thread_index();
  if (d >= diagonals) return;
  Mask any = 0;
  for (int64 b = blockIdx.y; b < blocks; b += gridDim.y) any |= mask[b * diagonals + d];
  if (any != 0) used[d] = 1;  // a benign race: all stores have the same value
}

__global__ void __launch_bounds__(kBlock)
    copy_columns(const Mask* from, int64 blocks, int64 diagonals, const std::int64_t* columns, int64 count, Mask* to) {
  const int64 at = thread_index();
  if (at < blocks * count) to[at] = from[at / count * diagonals + columns[at % count]];
}

}  // namespace

}  // namespace cuda::mdia

using namespace cuda;
using namespace cuda::mdia;

Array masks_of_product(const Structure& left, const Structure& right, MaskedWork& work, int64 rows, int64 diagonals) {
  const int64 blocks = masks_along(rows);
  Array mask = Array::zeros(DType::u32, {blocks, diagonals});
  const Array of_a = upload(work.a), of_b = upload(work.b), to = upload(work.to);
  const Scratch<unsigned long long> terms(1);
  CUDA_CALL(cudaMemsetAsync(terms.get(), 0, sizeof(unsigned long long), stream()));
  launch("find masks", find_masks, cuda::blocks(32 * blocks), dim3(kBlock),
         MaskedOperand<char>{Mdia<char>::over(left, nullptr), nullptr}, of_a.as<const MaskedDiagonal>(),
         static_cast<int>(work.a.size()), MaskedOperand<char>{Mdia<char>::over(right, nullptr), nullptr},
         of_b.as<const MaskedDiagonal>(), static_cast<int>(work.b.size()), to.as<const std::int32_t>(), blocks,
         diagonals, mask.as<Mask>(), terms.get());
  work.multiply_adds = static_cast<int64>(download(static_cast<const unsigned long long*>(terms.get()), 1)[0]);
  return mask;
}

std::vector<bool> columns_in_use(const Array& mask) {
  const int64 blocks = mask.shape.rows, diagonals = mask.shape.cols;
  const Scratch<int> used(diagonals);
  CUDA_CALL(cudaMemsetAsync(used.get(), 0, diagonals * sizeof(int), stream()));
  dim3 grid = cuda::blocks(diagonals);
  grid.y = static_cast<unsigned>(std::min<int64>(blocks, 256));
  launch("mark columns", mark_columns, grid, dim3(kBlock), mask.as<const Mask>(), blocks, diagonals, used.get());
  const std::vector<int> found = download(static_cast<const int*>(used.get()), diagonals);
  return {found.begin(), found.end()};
}

Array select_columns(const Array& mask, const std::vector<bool>& use) {
  std::vector<std::int64_t> columns;
  for (std::size_t d = 0; d < use.size(); ++d) {
    if (use[d]) columns.push_back(static_cast<std::int64_t>(d));
  }
  const auto count = static_cast<int64>(columns.size());
  Array result = Array::empty(DType::u32, {mask.shape.rows, count});
  const Array resident = upload(columns);
  launch("copy columns", copy_columns, cuda::blocks(result.size()), dim3(kBlock), mask.as<const Mask>(),
         mask.shape.rows, mask.shape.cols, resident.as<const std::int64_t>(), count, result.as<Mask>());
  return result;
}

}  // namespace diagsparse
