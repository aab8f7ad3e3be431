// The device code of kernel "dense_tiles"; matmul.cu describes it.
#pragma once

#include <limits>

#include "core/sums.hpp"
#include "device/fetch.cuh"
#include "device/matrix_units.cuh"

namespace diagsparse::cuda::dense_tiles {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

// The diagonals of an operand, one for each offset from `low` on: its element in row i is values[base[offset - low] +
// i]; kNone if the diagonal is not stored.
struct Table {
  const std::int64_t* base;
  int64 low;
  int width;

  __device__ int64 high() const { return low + width - 1; }
};

// A diagonal of C that has terms: its element in row i is values[out + i] for first <= i < last.
struct Result {
  int64 out, first, last;
};

struct DenseProduct {
  Table a, b;
  const Result* c;  // one for each offset from c_low on
  int64 c_low;
  int c_width;
  int64 rows, inner, cols;
  int across;  // tiles that a row of tiles may need
};

// The tile of C that a block computes, and how its warps divide it: each takes every WarpsDown-th range of 16 rows and
// every WarpsAcross-th range of 8 columns, so that all cover an equal part of a band. The loop over k advances by
// kDeep; `Stages` of these steps are being copied or in use. The rows of A and B in shared memory are padded so that
// neither reading a warp's fragments nor writing diagonals causes bank conflicts.
//
//             k0  k0 + kDeep                              j0            j0 + kCols
//     i0       +---+                               k0      +-------------+
//              | A | kPitchA values apart                  |      B      |  kPitchB values apart
//     + kRows  +---+                               + kDeep +-------------+
template <class T, int Rows, int Cols, int WarpsDown, int WarpsAcross, int Stages, int Blocks>
struct TileShape {
  static constexpr int item = sizeof(T);
  static constexpr int kRows = Rows, kCols = Cols, kDeep = 16, kStages = Stages, kBlocks = Blocks;
  static constexpr int kThreads = 32 * WarpsDown * WarpsAcross;
  static constexpr int kDown = Rows / 16 / WarpsDown, kAcross = Cols / 8 / WarpsAcross;  // tiles of a warp
  static constexpr int kPitchA = kDeep + 4, kPitchB = Cols + (item == 8 ? 4 : item == 4 ? 8 : 2);
  static constexpr int kPitchC = Cols + (item == 16 ? 4 : 8);
  static constexpr int kStage = Rows * kPitchA + kDeep * kPitchB;  // values per stage
  static constexpr int kShared = item * std::max(Stages * kStage, Rows* kPitchC);

  __device__ static int row(int tile) { return 16 * (tile * WarpsDown + threadIdx.x / 32 / WarpsAcross); }
  __device__ static int column(int tile) { return 8 * (tile * WarpsAcross + threadIdx.x / 32 % WarpsAcross); }
};

// Starts the copies of kDeep columns of A or rows of B. Value (x, k) of line x (a row of A, a column of B) is stored at
// to[x * LinePitch + k * DeepPitch]; half a warp copies 16 neighbouring values of a diagonal, or of two. Elements that
// are not stored become zero.
//
// number: the diagonal of line 0 and k = 0. Step: 1 if the number of the diagonal increases with k, as in A, or -1.
// row: of line 0 and k = 0 on its diagonal. Only lines below `lines` and k below `deep` have values.
template <class T, int Lines, int Threads, int LinePitch, int DeepPitch, int Step>
__device__ void copy_operand(T* to, const Table& operand, const T* values, int number, int64 row, int lines, int deep) {
  const int k = threadIdx.x % 16;
#pragma unroll
  for (int round = 0; round < Lines * 16 / Threads; ++round) {
    const int e = threadIdx.x / 16 + round * (Threads / 16), x = (e & ~15) | ((k + e) & 15);
    const int at = number + Step * (k - x);
    const bool within = x < lines && k < deep && static_cast<unsigned>(at) < static_cast<unsigned>(operand.width);
    const int64 base = within ? __ldg(operand.base + at) : kNone;
    const T* const from = base == kNone ? values : values + base + row + (Step > 0 ? x : k);
    start_copy<sizeof(T)>(reinterpret_cast<char*>(to + x * LinePitch + k * DeepPitch),
                          reinterpret_cast<const char*>(from), base != kNone);
  }
}

// C[i, j] from the stored pairs only.
template <class T>
__device__ __noinline__ T stored_sum(const DenseProduct& p, const T* a, bool conj_a, const T* b, bool conj_b, int64 i,
                                     int64 j) {
  T sum{};
  const int64 end = min(p.inner, i + p.a.high() + 1);
  for (int64 k = max(int64(0), i + p.a.low); k < end; ++k) {
    const int64 number = j - k - p.b.low;
    if (number < 0 || number >= p.b.width) continue;
    const int64 left = p.a.base[k - i - p.a.low], right = p.b.base[number];
    if (left == kNone || right == kNone) continue;
    sum += multiply(conjugate_if(conj_a, a[left + i]), conjugate_if(conj_b, b[right + k]));
  }
  return sum;
}

template <class S, class T>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks)
    multiply_tiles(const __grid_constant__ DenseProduct p, const T* a, bool conj_a, const T* b, bool conj_b, T* c,
                   const __grid_constant__ Update<T> update) {
  extern __shared__ __align__(16) char memory[];
  T* const shared = reinterpret_cast<T*>(memory);
  const int64 i0 = blockIdx.x / p.across * static_cast<int64>(S::kRows);
  const int64 j0 = max(int64(0), i0 + p.c_low) + static_cast<int64>(blockIdx.x % p.across) * S::kCols;
  if (j0 >= min(p.cols, i0 + S::kRows + p.c_low + p.c_width - 1)) return;
  const int64 begin = max(max(int64(0), i0 + p.a.low), j0 - p.b.high());
  const int64 end = min(min(p.inner, i0 + S::kRows + p.a.high()), j0 + S::kCols - p.b.low);
  const int steps = static_cast<int>(max(int64(0), end - begin) + S::kDeep - 1) / S::kDeep;
  // The k, relative to the first one, at which the first diagonals of A and the last of B reach the tile's first row
  // and column.
  const int k_of_i0 = static_cast<int>(i0 - begin + p.a.low), k_of_j0 = static_cast<int>(j0 - begin - p.b.high());
  const int mine = static_cast<int>(min(p.rows - i0, int64(S::kRows)));
  const int columns = static_cast<int>(min(p.cols - j0, int64(S::kCols)));

  const auto start = [&](int step) {
    if (step < steps) {
      T* const to = shared + step % S::kStages * S::kStage;
      const int k = step * S::kDeep, deep = static_cast<int>(min(end - begin - k, int64(S::kDeep)));
      copy_operand<T, S::kRows, S::kThreads, S::kPitchA, 1, 1>(to, p.a, a, k - k_of_i0, i0, mine, deep);
      copy_operand<T, S::kCols, S::kThreads, 1, S::kPitchB, -1>(to + S::kRows * S::kPitchA, p.b, b,
                                                                p.b.width - 1 - k + k_of_j0, begin + k, columns, deep);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };

  const int lane = threadIdx.x % 32, row = lane / 4, inner = lane % 4;
  Tile<T> sums[S::kDown][S::kAcross];
#pragma unroll
  for (int step = 0; step < S::kStages - 1; ++step) start(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(S::kStages - 2) : "memory");
    __syncthreads();
    start(step + S::kStages - 1);
    const T* const of_a = shared + step % S::kStages * S::kStage + (S::row(0) + row) * S::kPitchA + inner;
    const T* const of_b =
        shared + step % S::kStages * S::kStage + S::kRows * S::kPitchA + inner * S::kPitchB + S::column(0) + row;
    // Whether the diagonals between the outermost ones pass through a range of rows or columns in this step. `at` is
    // the number of the diagonal at its first line and first k.
    const auto overlaps = [](int at, int lines, int width) {
      return static_cast<unsigned>(at + S::kDeep - 1) < static_cast<unsigned>(width + S::kDeep + lines - 2);
    };
    bool overlaps_a[S::kDown], overlaps_b[S::kAcross], complete = true;
#pragma unroll
    for (int m = 0; m < S::kDown; ++m) {
      overlaps_a[m] = overlaps(step * S::kDeep - k_of_i0 - S::row(m), 16, p.a.width);
      complete = complete && overlaps_a[m];
    }
#pragma unroll
    for (int n = 0; n < S::kAcross; ++n) {
      overlaps_b[n] = overlaps(step * S::kDeep - k_of_j0 - S::column(n), 8, p.b.width);
      complete = complete && overlaps_b[n];
    }
#pragma unroll
    for (int k = 0; k < S::kDeep; k += 4) {
      T low[S::kDown], high[S::kDown], right[S::kAcross];
#pragma unroll
      for (int m = 0; m < S::kDown; ++m) {
        const T* const at = of_a + (S::row(m) - S::row(0)) * S::kPitchA + k;
        low[m] = conjugate_if(conj_a, at[0]);
        high[m] = conjugate_if(conj_a, at[8 * S::kPitchA]);
      }
#pragma unroll
      for (int n = 0; n < S::kAcross; ++n) {
        right[n] = conjugate_if(conj_b, of_b[k * S::kPitchB + S::column(n) - S::column(0)]);
      }
      if (complete) {
#pragma unroll
        for (int m = 0; m < S::kDown; ++m) {
#pragma unroll
          for (int n = 0; n < S::kAcross; ++n) sums[m][n].add(low[m], high[m], right[n]);
        }
        continue;
      }
#pragma unroll
      for (int m = 0; m < S::kDown; ++m) {
#pragma unroll
        for (int n = 0; n < S::kAcross; ++n) {
          if (overlaps_a[m] && overlaps_b[n]) sums[m][n].add(low[m], high[m], right[n]);
        }
      }
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();

#pragma unroll
  for (int m = 0; m < S::kDown; ++m) {
#pragma unroll
    for (int n = 0; n < S::kAcross; ++n) {
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        shared[(S::row(m) + row + v / 2 * 8) * S::kPitchC + S::column(n) + 2 * inner + v % 2] = sums[m][n].value(v);
      }
    }
  }
  __syncthreads();
  // Each warp writes whole diagonals of the tile, whose elements are consecutive in C. Lane l knows the l-th of them.
  constexpr int warps = S::kThreads / 32, each = (S::kRows + S::kCols - 1 + warps - 1) / warps;
  static_assert(each <= 32);
  const int own = 1 - S::kRows + static_cast<int>(threadIdx.x) / 32 + warps * lane;
  const int64 number = j0 - i0 + own - p.c_low;
  int64 own_out = 0;
  int own_first = 0, own_last = 0;
  if (lane < each && own < S::kCols && number >= 0 && number < p.c_width) {
    const Result result = p.c[number];
    own_out = result.out + i0;
    own_first = static_cast<int>(min(int64(mine), max(int64(max(0, -own)), result.first - i0)));
    own_last = static_cast<int>(min(int64(min(mine, columns - own)), max(int64(0), result.last - i0)));
  }
  for (int n = 0; n < each; ++n) {
    const int d = __shfl_sync(~0u, own, n), first = __shfl_sync(~0u, own_first, n),
              last = __shfl_sync(~0u, own_last, n);
    T* const out = c + __shfl_sync(~0u, own_out, n);
    for (int x = first + lane; x < last; x += 32) {
      T sum = shared[x * (S::kPitchC + 1) + d];
      if (!is_finite(sum)) sum = stored_sum(p, a, conj_a, b, conj_b, i0 + x, j0 + x + d);
      if (update.plain) store_once(out + x, sum);
      else update.one(out + x, sum);
    }
  }
}

// Scales the diagonals of C that have no terms by beta.
template <class T>
__global__ void __launch_bounds__(kBlock)
    empty_sums(const Result* results, T* c, const __grid_constant__ Update<T> update) {
  const Result result = results[blockIdx.y];
  for (int64 i = result.first + thread_index(); i < result.last; i += static_cast<int64>(gridDim.x) * blockDim.x) {
    update.one(c + result.out + i, T{});
  }
}

}  // namespace diagsparse::cuda::dense_tiles
