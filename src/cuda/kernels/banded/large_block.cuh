// Elimination of blocks of 9 to 64 rows: a block of threads processes one of them at a time.
//
// The 3 b columns of D, L and U are divided among warps, 8 or 16 each, and lane i has row i of these (and row i + 32,
// if b is larger than 32) in registers. In each step of the elimination, the warp with the pivot's column publishes it
// in shared memory, and every warp broadcasts its part of the pivot's row.
#pragma once

#include "kernels/banded/band.cuh"
#include "kernels/tridiagonal/parts.cuh"

namespace diagsparse::cuda::banded {

template <class T>
constexpr int kColumns = sizeof(T) == 16 ? 8 : 16;  // of a warp
template <class T, int Rows>
constexpr int kLargeThreads = 32 * 3 * 32 * Rows / kColumns<T>;  // for 32 Rows rows, and at most

template <class T>
struct alignas(2 * sizeof(T) > 16 ? 16 : 2 * sizeof(T)) Pair {
  T first, second;
};

// Blocks of threads that a multiprocessor has registers for.
template <class T, int Rows>
constexpr int kLargeBlocks = sizeof(T) <= 8 && Rows == 1 ? 3 : 1;

constexpr int kUnit = 1 << 16;

// Shared memory, before the elements of L and U.
template <class T>
struct LargeShared {
  alignas(16) T row[kLargeThreads<T, 2> / 32][kColumns<T>];  // of the pivot, divided by it
  T factors[2][kMostReach];                                  // the column of the pivot; of alternate steps
  T inverse[2];
  int pivot[2], order[kMostReach];  // order: the row with the pivot of each column
  unsigned size[kMostReach], size_before[kMostReach];
  unsigned coupling[kMostReach];  // the absolute values in a row of E and F, in units of 1 / kUnit
  int64 table[kMostDiagonals];
};

// What a lane has of a block: Rows rows of some columns of D, L or U.
template <class T, int Rows>
struct LargeBlock {
  static constexpr int N = kColumns<T>;
  T v[N][Rows];
  int b, lane, part, first;  // part: 0 for D, 1 for L, 2 for U; first: of the columns
  int warp;
  int step[Rows];

  __device__ explicit LargeBlock(int b) : b(b) {
    lane = static_cast<int>(threadIdx.x % 32);
    warp = static_cast<int>(threadIdx.x / 32);
    const int each = static_cast<int>(blockDim.x / 32) / 3;
    part = warp / each;
    first = warp % each * N;
  }
  __device__ int row(int r) const { return lane + 32 * r; }

  template <class F>
  __device__ void for_each(const F& f) {
#pragma unroll
    for (int c = 0; c < N; ++c) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) f(v[c][r], first + c, row(r));
    }
  }
  __device__ void take(const BandView<T>& a, int64 block) {
    const int shift = part == 0 ? 0 : part == 1 ? -b : b;
    for_each([&](T& value, int c, int r) {
      const T element = a.at(block * b + r, c - r + shift);
      value = r < b && c < b ? element : T{};
    });
  }
  // v -= factors * M; factors in shared memory, b x b, both by columns. M is followed by N - 1 columns of anything.
  __device__ void subtract(const T* factors, const T* m) {
    for (int k = 0; k < b; k += 2) {
      T one[Rows], two[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const int at = k * b + min(row(r), b - 1);
        one[r] = factors[at];
        two[r] = factors[at + b];
      }
      const T* column = m + first * b + k;
#pragma unroll
      for (int c = 0; c < N; ++c, column += b) {
        const Pair<T> pair = *reinterpret_cast<const Pair<T>*>(column);
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          v[c][r] = less_product(less_product(v[c][r], one[r], pair.first), two[r], pair.second);
        }
      }
    }
  }
  // The largest element of each row of D, for all warps.
  __device__ void find_sizes(unsigned* sizes) {
    if (part == 0) {
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        unsigned size = 0;
#pragma unroll
        for (int c = 0; c < N; ++c) {
          if (first + c < b) size = max(size, size_of(v[c][r]));
        }
        if (row(r) < b) atomicMax(sizes + row(r), size);
      }
    }
    __syncthreads();
  }

  // Moves the first column behind the last one, and all others forward.
  __device__ void rotate() {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const T column = v[0][r];
#pragma unroll
      for (int c = 0; c + 1 < N; ++c) v[c][r] = v[c + 1][r];
      v[N - 1][r] = column;
    }
  }
  // Column k of D, the first one of this warp: finds the pivot, and replaces the column by that of the identity.
  __device__ void find_pivot(int k, LargeShared<T>& shared) {
    T(&column)[Rows] = v[0];
    const int buffer = k % 2;
    unsigned best = 0;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (step[r] < 0) best = max(best, size_of(column[r]) + 1);
    }
    const unsigned most = __reduce_max_sync(~0u, best);
    int pivot = -1;
#pragma unroll
    for (int r = Rows - 1; r >= 0; --r) {
      const unsigned equal = __ballot_sync(~0u, step[r] < 0 && size_of(column[r]) + 1 == most);
      if (equal) pivot = __ffs(static_cast<int>(equal)) - 1 + 32 * r;
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      shared.factors[buffer][row(r)] = column[r];
      if (row(r) == pivot) {
        shared.inverse[buffer] = unchecked_reciprocal(column[r]);
        shared.pivot[buffer] = pivot;
        shared.order[k] = pivot;
      }
      column[r] = convert<T>(row(r) == pivot ? 1 : 0);
    }
  }
  // Gauss-Jordan elimination in place, with implicit row exchanges: row `step` of the results is in row `row`.
  __device__ bool eliminate(LargeShared<T>& shared) {
    bool strong = true;
#pragma unroll
    for (int r = 0; r < Rows; ++r) step[r] = row(r) < b ? -1 : row(r);
    // The warp with the pivot's column rotates its columns in every step, so that registers need no variable index.
    // To unroll the steps instead is not faster.
#pragma unroll 1
    for (int k = 0; k < b; ++k) {
      const bool has_pivot = part == 0 && first == k / N * N;
      if (has_pivot) find_pivot(k, shared);
      __syncthreads();
      const int buffer = k % 2, pivot = shared.pivot[buffer];
      const T inverse = shared.inverse[buffer];
      strong = strong && size_of(inverse) > 0 && is_finite(inverse);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (row(r) != pivot) continue;
        step[r] = k;
#pragma unroll
        for (int c = 0; c < N; ++c) shared.row[warp][c] = v[c][r] * inverse;
      }
      __syncwarp();
      T factor[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) factor[r] = shared.factors[buffer][row(r)];
#pragma unroll
      for (int c = 0; c < N; ++c) {
        const T of_pivot = shared.row[warp][c];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          v[c][r] = row(r) == pivot ? of_pivot : less_product(v[c][r], factor[r], of_pivot);
        }
      }
      if (has_pivot) rotate();
    }
    if (part == 0 && b - first < N) {
      for (int k = b - first; k < N; ++k) rotate();
    }
    __syncthreads();
    using R = Real<T>;
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      R sum = 0;
#pragma unroll
      for (int c = 0; c < N; ++c) {
        if (first + c >= b || row(r) >= b) continue;
        if (part != 0) sum += magnitude(v[c][r]);
        else strong = strong && magnitude(v[c][r]) * of_size<R>(shared.size[shared.order[first + c]]) <= kMostCondition;
      }
      const R most = 2 * kMostCoupling;  // for one warp; and where the sum is NaN
      if (part != 0) atomicAdd(shared.coupling + row(r), static_cast<unsigned>((sum <= most ? sum : most) * kUnit));
    }
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.x); r < b; r += static_cast<int>(blockDim.x)) {
      strong = strong && shared.coupling[r] <= static_cast<unsigned>(kMostCoupling * kUnit);
    }
    return strong;
  }
  __device__ void store(T* m) {
    for_each([&](T& value, int c, int r) {
      if (r < b && c < b) m[c * b + r] = value;
    });
  }
  __device__ void store_solved(T* m, const LargeShared<T>& shared) {
#pragma unroll
    for (int c = 0; c < N; ++c) {
      if (first + c >= b) break;
      const int column = part == 0 ? shared.order[first + c] : first + c;
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        if (row(r) < b) m[column * b + step[r]] = v[c][r];
      }
    }
  }
};

}  // namespace diagsparse::cuda::banded
