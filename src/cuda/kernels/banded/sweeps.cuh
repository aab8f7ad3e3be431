// Solving with the factors of a band: right-hand sides are reduced level by level, and x computed in the reverse order.
//
// x: n x columns. A group of threads processes a block: as many lanes as the block has rows (half as many from 33 rows
// on), `parts` times. Each part sums some of the columns of the factors; the sums are added in a fixed order. Small
// blocks have one part, and loops of known length, so that all of their elements are read at once.
#pragma once

#include "kernels/banded/band.cuh"

namespace diagsparse::cuda::banded {

constexpr int kSweepThreads = 256;

// How many threads process a block of b rows: `lanes` is a power of two, at most 32.
struct Groups {
  int b, lanes, parts;

  __host__ __device__ int count() const { return kSweepThreads / (lanes * parts); }  // in a block of threads
};

template <class T>
struct Columns {
  const T* b;
  T* x;
  int64 b_stride, x_stride, count;
};

// A group and its right-hand sides: Rows rows of each lane, and K columns. B: the rows of a small block, else 0.
template <class T, int B, int Rows, int K>
struct Sweep {
  const BandView<T>& a;
  const Groups groups;
  const Columns<T> columns;
  T (*shared)[kSweepThreads];  // Rows * K
  int lane, part, in_block;
  int64 first_column;
  T sum[Rows][K];

  __device__ Sweep(const BandView<T>& a, const Groups& groups, const Columns<T>& columns, T (*shared)[kSweepThreads])
      : a(a), groups(groups), columns(columns), shared(shared) {
    lane = static_cast<int>(threadIdx.x) % groups.lanes;
    part = static_cast<int>(threadIdx.x) / groups.lanes % groups.parts;
    in_block = static_cast<int>(threadIdx.x) / (groups.lanes * groups.parts);
  }
  __device__ int row(int r) const { return lane + 32 * r; }
  __device__ int rows() const {  // of a block
    if constexpr (B > 0) return B;
    else return groups.b;
  }

  template <class F>
  __device__ void for_each(const F& f) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int c = 0; c < K; ++c) f(sum[r][c], row(r), c);
    }
  }
  __device__ T element(const T* from, int64 stride, int64 at, int c) const {
    return at < a.n && first_column + c < columns.count ? read(from + (first_column + c) * stride + at) : T{};
  }
  __device__ T of_x(int64 at, int c) const { return element(columns.x, columns.x_stride, at, c); }

  // Calls f for the columns of a block that this part sums.
  template <class F>
  __device__ void for_columns(const F& f) const {
    if constexpr (B > 0) {
#pragma unroll
      for (int k = 0; k < B; ++k) f(k);
    } else {
#pragma unroll 4
      for (int k = part; k < rows(); k += groups.parts) f(k);
    }
  }
  // Waits for the threads of the group.
  __device__ static void synchronize() {
    if constexpr (B > 0) __syncwarp();
    else __syncthreads();
  }

  // sum -= M x, where x are the elements from row `at` on.
  __device__ void subtract_product(const T* m, int64 at) {
    for_columns([&](int k) {
      T x[K];
#pragma unroll
      for (int c = 0; c < K; ++c) x[c] = of_x(at + k, c);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
        const T value = row(r) < rows() ? load(m + k * rows() + row(r)) : T{};
#pragma unroll
        for (int c = 0; c < K; ++c) sum[r][c] = less_product(sum[r][c], value, x[c]);
      }
    });
  }
  // The same for the elements of the band outside of its block, which starts at row `at`.
  __device__ void subtract_neighbours(int64 at) {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const int own = row(r);
      if (own >= rows() || at + own >= a.n) continue;
      const auto subtract = [&](int k) {
        const int64 column = at + own + k;
        if ((own + k >= 0 && own + k < rows()) || column < 0 || column >= a.n) return;
        const T value = a.inside(at + own, k);
#pragma unroll
        for (int c = 0; c < K; ++c) sum[r][c] = less_product(sum[r][c], value, of_x(column, c));
      };
      if constexpr (B > 0) {
#pragma unroll
        for (int k = -B; k <= B; ++k) {
          if (-a.below <= k && k <= a.above) subtract(k);
        }
      } else {
        for (int k = -a.below + part; k <= a.above; k += groups.parts) subtract(k);
      }
    }
  }
  // Adds the sums of all parts.
  __device__ void join() {
    if (B > 0 || groups.parts == 1) return;
    const int t = static_cast<int>(threadIdx.x);
    for_each([&](T& value, int r, int c) { shared[r / 32 * K + c][t] = value; });
    __syncthreads();
    for_each([&](T& value, int r, int c) {
      value = T{};
      const int from = (in_block * groups.parts) * groups.lanes + lane;
      for (int p = 0; p < groups.parts; ++p) value = value + shared[r / 32 * K + c][from + p * groups.lanes];
    });
    __syncthreads();
  }
  // sum = M sum.
  __device__ void multiply(const T* m, bool active) {
    const int t = static_cast<int>(threadIdx.x);
    for_each([&](T& value, int r, int c) {
      shared[r / 32 * K + c][t] = value;
      value = T{};
    });
    synchronize();
    const int from = t - lane;
    if (active) {
      for_columns([&](int k) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
          const T value = row(r) < rows() ? minus(load(m + k * rows() + row(r))) : T{};
#pragma unroll
          for (int c = 0; c < K; ++c) {
            sum[r][c] = less_product(sum[r][c], value, shared[k / 32 * K + c][from + k % 32]);
          }
        }
      });
    }
    synchronize();
    join();
  }
  __device__ void store(int64 at) {
    if (part > 0) return;
    for_each([&](T& value, int r, int c) {
      if (r < rows() && at + r < a.n && first_column + c < columns.count) {
        columns.x[(first_column + c) * columns.x_stride + at + r] = value;
      }
    });
  }

  __device__ void forward(const Levels<T>& levels, int l) {
    const Level<T>& level = levels.level[l];
    const int64 size = rows() * rows(), count = l == 0 ? level.eliminated() : level.count;
    for (int64 base = static_cast<int64>(blockIdx.x) * groups.count(); base < count;
         base += int64{gridDim.x} * groups.count()) {
      const int64 i = base + in_block;
      const bool active = i < count;
      const Position position = banded::position(level, min(i, count - 1), groups.count(), l == 0);
      const int64 j = position.block, at = (j << l) * rows();
      const bool from_b = l <= 1;
      for_each([&](T& value, int r, int c) {
        value = part > 0 || !active || r >= rows() ? T{}
                : from_b                           ? element(columns.b, columns.b_stride, at + r, c)
                                                   : of_x(at + r, c);
      });
      if (l == 1 && active) subtract_neighbours(at);
      if (l > 1 && active) {
        const T* couplings = levels.level[l - 1].couplings + 2 * j * size;
        const int64 distance = (int64{1} << (l - 1)) * rows();
        if (j > 0) subtract_product(couplings, at - distance);
        if (2 * j + 1 < levels.level[l - 1].count) subtract_product(couplings + size, at + distance);
      }
      join();
      T before[Rows][K];
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int c = 0; c < K; ++c) before[r][c] = sum[r][c];
      }
      multiply(level.solved + j / 2 * 3 * size, active && position.eliminated);
#pragma unroll
      for (int r = 0; r < Rows; ++r) {
#pragma unroll
        for (int c = 0; c < K; ++c) {
          if (!position.eliminated) sum[r][c] = before[r][c];
        }
      }
      if (active) store(at);
    }
    __syncthreads();
  }

  __device__ void back(const Levels<T>& levels, int l) {
    const Level<T>& level = levels.level[l];
    const int64 size = rows() * rows(), count = level.count / 2;
    for (int64 base = static_cast<int64>(blockIdx.x) * groups.count(); base < count;
         base += int64{gridDim.x} * groups.count()) {
      const int64 i = base + in_block, j = 2 * min(i, count - 1) + 1, at = (j << l) * rows();
      const int64 distance = (int64{1} << l) * rows();
      const T* solved = level.solved + j / 2 * 3 * size;
      for_each([&](T& value, int r, int c) { value = part > 0 || r >= rows() ? T{} : of_x(at + r, c); });
      if (i < count) {
        subtract_product(solved + size, at - distance);
        if (j + 1 < level.count) subtract_product(solved + 2 * size, at + distance);
      }
      join();
      if (i < count) store(at);
    }
    __syncthreads();
  }
};

// Reduces the right-hand sides on the levels from `first` up to `last`, and then computes x on those from `top` down to
// `bottom`; if these are several, in one block of threads for K columns.
template <class T, int B, int Rows, int K>
__global__ void __launch_bounds__(kSweepThreads, B > 0 && K == 1 && sizeof(T) <= 8 ? 5 : 1)
    sweep(const __grid_constant__ Band<T> band, const __grid_constant__ Levels<T> levels, const Groups groups,
          const Columns<T> columns, int first, int last, int top, int bottom) {
  __shared__ int64 table[kMostDiagonals];
  __shared__ T shared[Rows * K][kSweepThreads];
  const BandView<T> a(band, table);
  Sweep<T, B, Rows, K> own(a, groups, columns, shared);
  for (own.first_column = blockIdx.y * K; own.first_column < columns.count; own.first_column += gridDim.y * K) {
    for (int l = first; l < last; ++l) own.forward(levels, l);
    for (int l = top; l > bottom; --l) own.back(levels, l - 1);
  }
}

}  // namespace diagsparse::cuda::banded
