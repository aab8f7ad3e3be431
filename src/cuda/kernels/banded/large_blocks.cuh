// Elimination on a level of the reduction of blocks of 9 to 64 rows.
#pragma once

#include "kernels/banded/large_block.cuh"

namespace diagsparse::cuda::banded {

// Whether E and F of both neighbours are copied to shared memory, too, which has not enough room for the largest ones.
template <class T, int Rows>
constexpr bool kFetched = sizeof(T) < 16 || Rows == 1;
// Elements in shared memory: those of blocks, and what is read behind the last one.
template <class T, int Rows>
int fetched_elements(int b) {
  return (kFetched<T, Rows> ? 6 : 2) * b * b + kColumns<T> * b;
}

// Copies L and U of the even block 2 j of a level, by columns; and E and F of the blocks before and after it.
template <class T, int Rows>
__device__ void fetch(const BandView<T>& a, const Level<T>& level, int64 j, int b, T* to) {
  const int size = 2 * b * b, width = static_cast<int>(blockDim.x);
  const T* const solved = level.solved + 3 * j * (size / 2) + size / 2;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < size; i += width) {
    if (level.couplings) {
      tridiagonal::copy_later(to + i, level.couplings + j * size + i);
    } else {
      const int column = i % (size / 2) / b, row = i % b;
      to[i] = a.at(2 * j * b + row, column - row + (i < size / 2 ? -b : b));
    }
    if constexpr (kFetched<T, Rows>) {
      if (j > 0) tridiagonal::copy_later(to + size + i, solved - 3 * (size / 2) + i);
      if (2 * j + 1 < level.count) tridiagonal::copy_later(to + 2 * size + i, solved + i);
    }
  }
  tridiagonal::wait_for_fetches();
}

// Eliminates on a level.
template <class T, int Rows>
__global__ void __launch_bounds__(kLargeThreads<T, Rows>, kLargeBlocks<T, Rows>)
    eliminate_large(const __grid_constant__ Band<T> band, const Level<T> before, const Level<T> level, bool lowest,
                    int b, int* weak) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<LargeShared<T>*>(memory);
  T* const couplings = reinterpret_cast<T*>(&shared + 1);
  const BandView<T> a(band, shared.table);
  const int64 size = b * b, count = lowest ? level.eliminated() : level.count;
  LargeBlock<T, Rows> own(b);
  bool strong = true;
  for (int64 i = blockIdx.x; i < count; i += gridDim.x) {
    const Position at = position(level, i, 1, lowest);
    const int64 j = at.block;
    for (int r = static_cast<int>(threadIdx.x); r < kMostReach; r += static_cast<int>(blockDim.x)) {
      shared.size[r] = shared.size_before[r] = shared.coupling[r] = 0;
    }
    if (lowest) {
      __syncthreads();
      own.take(a, j);
      own.find_sizes(shared.size);
    } else {
      fetch<T, Rows>(a, before, j, b, couplings);
      if (own.part != 0) own.for_each([](T& value, int, int) { value = T{}; });
      else if (!before.main) own.take(a, 2 * j);
      else
        own.for_each(
            [&](T& value, int c, int r) { value = r < b && c < b ? read(before.main + j * size + c * b + r) : T{}; });
      own.find_sizes(shared.size_before);
      const T *previous, *next;  // E and F of both neighbours
      if constexpr (kFetched<T, Rows>) {
        previous = couplings + 2 * size;
        next = couplings + 4 * size;
      } else {
        previous = before.solved + (3 * j - 2) * size;
        next = before.solved + (3 * j + 1) * size;
      }
      if (j > 0 && own.part != 2) own.subtract(couplings, previous + (own.part == 0 ? size : 0));
      if (2 * j + 1 < before.count && own.part != 1) own.subtract(couplings + size, next + (own.part == 0 ? 0 : size));
      own.find_sizes(shared.size);
      for (int r = static_cast<int>(threadIdx.x); r < b; r += static_cast<int>(blockDim.x)) {
        strong = strong && steady<Real<T>>(shared.size_before[r], shared.size[r]);
      }
    }
    if (at.eliminated) {
      strong = own.eliminate(shared) && strong;
      own.store_solved(level.solved + (j / 2 * 3 + own.part) * size, shared);
    } else {
      own.store(own.part == 0 ? level.main + j / 2 * size : level.couplings + (j / 2 * 2 + own.part - 1) * size);
    }
    __syncthreads();
  }
  if (!strong) *weak = 1;
}

}  // namespace diagsparse::cuda::banded
