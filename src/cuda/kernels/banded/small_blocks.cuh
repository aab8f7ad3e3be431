// Elimination of blocks of B rows, at most 8: as many lanes process a block, each a row of D, L and U in registers.
#pragma once

#include <bit>

#include "kernels/banded/band.cuh"

namespace diagsparse::cuda::banded {

constexpr int kSmallThreads = 128;

template <class T>
__device__ T of_lane(T v, int lane, int width) {
  if constexpr (is_complex<T>) return {__shfl_sync(~0u, v.re, lane, width), __shfl_sync(~0u, v.im, lane, width)};
  else return __shfl_sync(~0u, v, lane, width);
}

// The rows of a lane, and the elimination in its block.
template <class T, int B>
struct SmallBlock {
  static constexpr int kLanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(B)));
  static constexpr int kSize = B * B;

  T main[B], left[B], right[B];
  int row;

  // rows -= factors * M, for M of B x B elements by columns.
  __device__ static void subtract(T (&rows)[B], const T (&factors)[B], const T* m) {
#pragma unroll
    for (int c = 0; c < B; ++c) {
#pragma unroll
      for (int k = 0; k < B; ++k) rows[c] = less_product(rows[c], factors[k], read(m + c * B + k));
    }
  }
  __device__ unsigned largest() const {
    unsigned size = 0;
#pragma unroll
    for (int c = 0; c < B; ++c) size = max(size, size_of(main[c]));
    return size;
  }

  __device__ void take(const BandView<T>& a, int64 block) {
    const int64 at = block * B + row;
    const bool inside = row < B;  // further lanes have zeros
#pragma unroll
    for (int c = 0; c < B; ++c) {
      const T on = a.at(at, c - row), before = a.at(at, c - row - B), after = a.at(at, c - row + B);
      main[c] = inside ? on : T{};
      left[c] = inside ? before : T{};
      right[c] = inside ? after : T{};
    }
  }
  __device__ static void take_rows(T (&rows)[B], const T* m, int row) {
#pragma unroll
    for (int c = 0; c < B; ++c) rows[c] = row < B ? read(m + c * B + row) : T{};
  }
  // What is left of the even block 2 j of the level before. Returns whether rows of D are as large as before.
  __device__ bool take_reduced(const BandView<T>& a, const Level<T>& before, int64 j) {
    if (before.main) {
      take_rows(main, before.main + j * kSize, row);
      take_rows(left, before.couplings + 2 * j * kSize, row);
      take_rows(right, before.couplings + (2 * j + 1) * kSize, row);
    } else {
      take(a, 2 * j);
    }
    const unsigned size_before = largest();
    T new_left[B] = {}, new_right[B] = {};
    if (j > 0) {
      const T* solved = before.solved + 3 * (j - 1) * kSize;
      subtract(main, left, solved + 2 * kSize);
      subtract(new_left, left, solved + kSize);
    }
    if (2 * j + 1 < before.count) {
      const T* solved = before.solved + 3 * j * kSize;
      subtract(main, right, solved + kSize);
      subtract(new_right, right, solved + 2 * kSize);
    }
#pragma unroll
    for (int c = 0; c < B; ++c) {
      left[c] = new_left[c];
      right[c] = new_right[c];
    }
    return steady<Real<T>>(size_before, largest());
  }

  // Gauss-Jordan elimination in place, with implicit row exchanges. `step` becomes the row of the results that this
  // lane has, and `order` for lane k the lane that had the pivot of column k.
  __device__ bool eliminate(int& step, int& order) {
    const unsigned size = largest();
    bool strong = true;
    step = row < B ? -1 : row;
    order = row;
#pragma unroll
    for (int k = 0; k < B; ++k) {
      unsigned best = step < 0 ? (size_of(main[k]) & ~31u) | static_cast<unsigned>(31 - row) : 0;
#pragma unroll
      for (int to = kLanes / 2; to > 0; to /= 2) best = max(best, __shfl_xor_sync(~0u, best, to, kLanes));
      const int pivot = 31 - static_cast<int>(best & 31u);
      const T inverse = unchecked_reciprocal(of_lane(main[k], pivot, kLanes)), factor = main[k];
      strong = strong && size_of(inverse) > 0 && is_finite(inverse);
      const bool mine = row == pivot;
      main[k] = convert<T>(mine ? 1 : 0);
      const auto change = [&](T& v) {
        const T of_pivot = of_lane(v, pivot, kLanes) * inverse;
        v = mine ? of_pivot : less_product(v, factor, of_pivot);
      };
#pragma unroll
      for (int c = 0; c < B; ++c) {
        change(main[c]);
        change(left[c]);
        change(right[c]);
      }
      if (mine) step = k;
      if (row == k) order = pivot;
    }
    using R = Real<T>;
    R coupling = 0;
#pragma unroll
    for (int c = 0; c < B; ++c) {
      const R scale = of_size<R>(__shfl_sync(~0u, size, __shfl_sync(~0u, order, c, kLanes), kLanes));
      coupling += magnitude(left[c]) + magnitude(right[c]);
      strong = strong && (row >= B || magnitude(main[c]) * scale <= kMostCondition);
    }
    strong = strong && (row >= B || coupling <= kMostCoupling);
    return strong;
  }
  __device__ void store_rows(const T (&rows)[B], T* m) const {
#pragma unroll
    for (int c = 0; c < B; ++c) m[c * B + row] = rows[c];
  }
};

// Eliminates on the levels from `first` up to `last`; if these are several, in one block of threads.
template <class T, int B>
__global__ void __launch_bounds__(kSmallThreads)
    eliminate_small(const __grid_constant__ Band<T> band, const __grid_constant__ Levels<T> levels, int first, int last,
                    int* weak) {
  __shared__ int64 table[kMostDiagonals];
  const BandView<T> a(band, table);
  using Block = SmallBlock<T, B>;
  constexpr int kGroups = kSmallThreads / Block::kLanes, kSize = Block::kSize;
  Block own;
  own.row = static_cast<int>(threadIdx.x) % Block::kLanes;
  bool strong = true;
  for (int l = first; l < last; ++l) {
    const Level<T> level = levels.level[l];
    const int64 count = l == 0 ? level.eliminated() : level.count;
    for (int64 base = static_cast<int64>(blockIdx.x) * kGroups; base < count; base += gridDim.x * int64{kGroups}) {
      const int64 i = base + static_cast<int>(threadIdx.x) / Block::kLanes;
      const Position at = position(level, min(i, count - 1), kGroups, l == 0);
      bool kept = true;
      if (l == 0) own.take(a, at.block);
      else kept = own.take_reduced(a, levels.level[l - 1], at.block);
      const bool writes = i < count && own.row < B;
      if (writes && !at.eliminated) {
        own.store_rows(own.main, level.main + at.block / 2 * kSize);
        own.store_rows(own.left, level.couplings + at.block / 2 * 2 * kSize);
        own.store_rows(own.right, level.couplings + (at.block / 2 * 2 + 1) * kSize);
      }
      if (__any_sync(~0u, at.eliminated)) {
        int step, order;
        const bool solved = own.eliminate(step, order);
        T* to = level.solved + at.block / 2 * 3 * kSize;
#pragma unroll
        for (int c = 0; c < B; ++c) {
          const int column = __shfl_sync(~0u, order, c, Block::kLanes);
          if (writes && at.eliminated) {
            to[column * B + step] = own.main[c];
            to[kSize + c * B + step] = own.left[c];
            to[2 * kSize + c * B + step] = own.right[c];
          }
        }
        kept = kept && (solved || !at.eliminated);
      }
      strong = strong && (kept || i >= count);
    }
    __syncthreads();
  }
  if (!strong) *weak = 1;
}

}  // namespace diagsparse::cuda::banded
