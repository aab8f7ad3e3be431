// Elimination of blocks of at most 8 rows: as many lanes process a block, each a row of D, L and U in registers.
#pragma once

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
  T main[B], left[B], right[B];
  int b, row;

  // rows -= factors * M, for M of b x b elements by columns.
  __device__ static void subtract(T (&rows)[B], const T (&factors)[B], const T* m, int b) {
#pragma unroll
    for (int c = 0; c < B; ++c) {
      if (c >= b) break;
#pragma unroll
      for (int k = 0; k < B; ++k) {
        if (k < b) rows[c] = less_product(rows[c], factors[k], read(m + c * b + k));
      }
    }
  }
  __device__ unsigned largest() const {
    unsigned size = 0;
#pragma unroll
    for (int c = 0; c < B; ++c) size = max(size, size_of(main[c]));
    return size;
  }

  __device__ void take(const BandView<T>& a, int64 block) {
    const int64 at = block * b + row;
#pragma unroll
    for (int c = 0; c < B; ++c) {
      const bool inside = row < b && c < b;
      main[c] = inside ? a.at(at, c - row) : convert<T>(row == c ? 1 : 0);
      left[c] = inside ? a.at(at, c - row - b) : T{};
      right[c] = inside ? a.at(at, c - row + b) : T{};
    }
  }
  __device__ static void take_rows(T (&rows)[B], const T* m, int b, int row, bool identity) {
#pragma unroll
    for (int c = 0; c < B; ++c) {
      rows[c] = row < b && c < b ? read(m + c * b + row) : convert<T>(identity && row == c ? 1 : 0);
    }
  }
  // What is left of the even block 2 j of the level before. Returns whether no row has become small.
  __device__ bool take_reduced(const BandView<T>& a, const Level<T>& before, int64 j) {
    const int64 size = b * b;
    if (before.main) {
      take_rows(main, before.main + j * size, b, row, true);
      take_rows(left, before.couplings + 2 * j * size, b, row, false);
      take_rows(right, before.couplings + (2 * j + 1) * size, b, row, false);
    } else {
      take(a, 2 * j);
    }
    const unsigned size_before = largest();
    T new_left[B] = {}, new_right[B] = {};
    if (j > 0) {
      const T* solved = before.solved + 3 * (j - 1) * size;
      subtract(main, left, solved + 2 * size, b);
      subtract(new_left, left, solved + size, b);
    }
    if (2 * j + 1 < before.count) {
      const T* solved = before.solved + 3 * j * size;
      subtract(main, right, solved + size, b);
      subtract(new_right, right, solved + 2 * size, b);
    }
#pragma unroll
    for (int c = 0; c < B; ++c) {
      left[c] = new_left[c];
      right[c] = new_right[c];
    }
    using R = Real<T>;
    return of_size<R>(largest()) >= kLeastFraction * of_size<R>(size_before);
  }

  // Gauss-Jordan elimination in place, with implicit row exchanges. `step` becomes the row of the results that this
  // lane has, and `order` for lane k the lane that had the pivot of column k.
  __device__ bool eliminate(int& step, int& order) {
    const unsigned size = largest();
    bool strong = true;
    step = row < b ? -1 : row;
    order = row;
#pragma unroll
    for (int k = 0; k < B; ++k) {
      if (k >= b) break;
      unsigned best = step < 0 ? (size_of(main[k]) & ~31u) | static_cast<unsigned>(31 - row) : 0;
#pragma unroll
      for (int to = B / 2; to > 0; to /= 2) best = max(best, __shfl_xor_sync(~0u, best, to, B));
      const int pivot = 31 - static_cast<int>(best & 31u);
      const T inverse = reciprocal(of_lane(main[k], pivot, B)), factor = main[k];
      strong = strong && size_of(inverse) > 0 && is_finite(inverse);
      const bool mine = row == pivot;
      main[k] = convert<T>(mine ? 1 : 0);
      const auto change = [&](T& v) {
        const T of_pivot = of_lane(v, pivot, B) * inverse;
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
#pragma unroll
    for (int c = 0; c < B; ++c) {
      if (c >= b) break;
      const R scale = of_size<R>(__shfl_sync(~0u, size, __shfl_sync(~0u, order, c, B), B));
      strong = strong && (row >= b || (tridiagonal::small(left[c]) && tridiagonal::small(right[c]) &&
                                       magnitude(main[c]) * scale <= kMostCondition));
    }
    return strong;
  }
  __device__ void store_rows(const T (&rows)[B], T* m) const {
#pragma unroll
    for (int c = 0; c < B; ++c) {
      if (c < b) m[c * b + row] = rows[c];
    }
  }
};

// Eliminates on the levels from `first` up to `last`; if these are several, in one block of threads.
template <class T, int B>
__global__ void __launch_bounds__(kSmallThreads)
    eliminate_small(const __grid_constant__ Band<T> band, const __grid_constant__ Levels<T> levels, int b, int first,
                    int last, int* weak) {
  __shared__ int64 table[kMostDiagonals];
  const BandView<T> a(band, table);
  constexpr int kGroups = kSmallThreads / B;
  SmallBlock<T, B> own;
  own.b = b;
  own.row = static_cast<int>(threadIdx.x) % B;
  const int64 size = b * b;
  bool strong = true;
  for (int l = first; l < last; ++l) {
    const Level<T> level = levels.level[l];
    const int64 count = l == 0 ? level.eliminated() : level.count;
    for (int64 base = static_cast<int64>(blockIdx.x) * kGroups; base < count; base += gridDim.x * int64{kGroups}) {
      const int64 i = base + static_cast<int>(threadIdx.x) / B;
      const Position at = position(level, min(i, count - 1));
      bool kept = true;
      if (l == 0) own.take(a, at.block);
      else kept = own.take_reduced(a, levels.level[l - 1], at.block);
      const bool writes = i < count && own.row < b;
      if (writes && !at.eliminated) {
        own.store_rows(own.main, level.main + at.block / 2 * size);
        own.store_rows(own.left, level.couplings + at.block / 2 * 2 * size);
        own.store_rows(own.right, level.couplings + (at.block / 2 * 2 + 1) * size);
      }
      if (__any_sync(~0u, at.eliminated)) {
        int step, order;
        const bool solved = own.eliminate(step, order);
        T* to = level.solved + at.block / 2 * 3 * size;
#pragma unroll
        for (int c = 0; c < B; ++c) {
          const int column = __shfl_sync(~0u, order, c, B);
          if (c < b && writes && at.eliminated) {
            to[column * b + step] = own.main[c];
            to[size + c * b + step] = own.left[c];
            to[2 * size + c * b + step] = own.right[c];
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
