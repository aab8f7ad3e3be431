// Sampled products of diagonals for blocks of columns, in any order.
//
// "near": for groups of neighbouring diagonals. A block of threads computes 256 rows of C on the diagonals of a group.
// It copies the rows of X and Y that it needs to shared memory, some columns at a time. A thread has the sums of
// several neighbouring rows on eight neighbouring diagonals in registers, so that each element that it reads is used
// several times. Shared memory also brings the sums to the order in which they are written. "far": for the other
// diagonals. Four or eight neighbouring lanes compute a row of C on up to four diagonals, and each of them sums every
// fourth or eighth column.
#pragma once

#include "device/lanes.cuh"
#include "kernels/sampled/diagonals.cuh"

namespace diagsparse::cuda::sampled {

// ---- Near diagonals -----------------------------------------------------------------------------------------------
constexpr int kTileRows = 256;           // of C, for a block of threads
constexpr int kSums = 8;                 // diagonals of a thread
constexpr int kShares = kRange / kSums;  // threads that divide the diagonals of a group

// The sizes of a tile for a type. Row i of X and Y is in shared memory at (i % rows) * apart + i / rows, so that
// threads that process neighbouring groups of rows read neighbouring positions; each position has `step` elements.
template <class T>
struct Tile {
  static constexpr int rows = sizeof(T) == 16 ? 2 : 4;  // of a thread
  static constexpr int across = kTileRows / rows, threads = kShares * across;
  static constexpr int width = 64 / sizeof(T), step = width + 1;  // columns at a time; odd, to use all banks
  static constexpr int apart = sizeof(T) == 4 ? 80 : sizeof(T) == 8 ? 72 : 148;  // no conflicts of banks while copying
  static constexpr int size = rows * apart * step;
  // Sums of a diagonal in shared memory, in the same order.
  static constexpr int sums_apart = across + 128 / sizeof(T) / rows, sums_size = rows * sums_apart;
  static constexpr int at_once = 2 * size / sums_size / kSums * kSums;  // diagonals whose sums fit

  static_assert(rows * apart >= kTileRows + kRange - 1 && kSums % rows == 0 && at_once > 0);
  __device__ static int position(int row) { return (row % rows * apart + row / rows) * step; }
};

// Copies columns p to p + some of the rows [first, first + count) of d to shared memory; rows outside of d are 0.
template <class T>
__device__ void stage(T* to, const Block<const T>& d, int64 first, int count, int64 height, int64 p, int some) {
  const bool by_rows = d.col == 1;
  const int shift = 32 - __clz(some - 1), width = 1 << shift;  // the next power of two
#pragma unroll 4
  for (int e = threadIdx.x; e < count * (by_rows ? width : some); e += Tile<T>::threads) {
    const int r = by_rows ? e >> shift : e % count, c = by_rows ? e & (width - 1) : e / count;
    const int64 i = first + r;
    if (c < some) {
      to[Tile<T>::position(r) + c] = i >= 0 && i < height ? load(d.data + i * d.row + (p + c) * d.col) : T{};
    }
  }
}

template <class T>
__global__ void __launch_bounds__(Tile<T>::threads)
    near(const Diagonal* diagonals, const Group* groups, Block<const T> x, Block<const T> y, int64 columns, T* values,
         int64 rows, int64 cols, const __grid_constant__ Members members) {
  constexpr int R = Tile<T>::rows, apart = Tile<T>::apart, step = Tile<T>::step;
  __shared__ Bits<T> memory[2 * Tile<T>::size];
  __shared__ Diagonal list[kRange];
  T *const in_x = reinterpret_cast<T*>(memory), *const in_y = in_x + Tile<T>::size;
  const int64 member = blockIdx.x / members.tiles;
  const int64 first = static_cast<int64>(blockIdx.x - member * members.tiles) * kTileRows;
  x.data += member * members.x;
  y.data += member * members.y;
  values += member * members.c;
  const Group group = groups[blockIdx.y];
  const int64 low = diagonals[group.first].offset;
  const int reach = static_cast<int>(diagonals[group.first + group.count - 1].offset - low);
  if (threadIdx.x < group.count) list[threadIdx.x] = diagonals[group.first + threadIdx.x];
  const int at = threadIdx.x % Tile<T>::across, share = threadIdx.x / Tile<T>::across;
  const int mine = reach - share * kSums;  // offset of the last diagonal, from the first one of this thread
  T sum[R][kSums] = {};
  for (int64 p = 0; p < columns; p += Tile<T>::width) {
    const int some = static_cast<int>(columns - p < Tile<T>::width ? columns - p : Tile<T>::width);
    __syncthreads();
    stage(in_x, x, first, kTileRows, rows, p, some);
    stage(in_y, y, first + low, kTileRows + reach, cols, p, some);
    __syncthreads();
    for (int c = 0; mine >= 0 && c < some; ++c) {
      const T* const left = in_x + at * step + c;
      const T* const right = in_y + (share * (kSums / R) + at) * step + c;
      T factor[R];
#pragma unroll
      for (int r = 0; r < R; ++r) factor[r] = left[r * apart * step];
      // Row R at + s of Y, from the first one of this thread, is needed for row r on diagonal s - r.
#pragma unroll
      for (int s = 0; s < R + kSums - 1; ++s) {
        if (s >= R + mine) break;
        const T other = right[(s % R * apart + s / R) * step];
#pragma unroll
        for (int r = 0; r < R; ++r) {
          if (s >= r && s - r < kSums) sum[r][s - r] += multiply(factor[r], other);
        }
      }
    }
  }
  T* const sums = in_x;
  for (int begin = 0; begin <= reach; begin += Tile<T>::at_once) {
    __syncthreads();
    const int from = share * kSums - begin;
    if (from >= 0 && from < Tile<T>::at_once) {
#pragma unroll
      for (int k = 0; k < kSums; ++k) {
#pragma unroll
        for (int r = 0; r < R; ++r) sums[(from + k) * Tile<T>::sums_size + r * Tile<T>::sums_apart + at] = sum[r][k];
      }
    }
    __syncthreads();
    const int row = threadIdx.x % kTileRows;
    const int64 i = first + row;
    const T* const of_row = sums + row % R * Tile<T>::sums_apart + row / R;
    for (int d = threadIdx.x / kTileRows; d < group.count; d += Tile<T>::threads / kTileRows) {
      const Diagonal here = list[d];
      const int k = static_cast<int>(here.offset - low) - begin;
      if (k < 0 || k >= Tile<T>::at_once || i < here.first || i >= here.last) continue;
      store_once(values + (here.base + i), of_row[k * Tile<T>::sums_size]);
    }
  }
}

// ---- Far diagonals ------------------------------------------------------------------------------------------------
template <class T, int Lanes>
__global__ void __launch_bounds__(kBlock)
    far(const Diagonal* diagonals, const Group* groups, Block<const T> x, Block<const T> y, int64 columns, T* values,
        int64 rows, const __grid_constant__ Members members) {
  constexpr int height = kBlock / Lanes;
  const int64 member = blockIdx.x / members.tiles;
  const int64 i = static_cast<int64>(blockIdx.x - member * members.tiles) * height + threadIdx.x / Lanes;
  const int lane = threadIdx.x % Lanes;
  const Group group = groups[blockIdx.y];
  const T *const left = x.data + member * members.x + i * x.row, *right[kFew];
  bool inside[kFew];
#pragma unroll
  for (int k = 0; k < kFew; ++k) {
    inside[k] = false;
    if (k >= group.count) continue;
    const Diagonal d = diagonals[group.first + k];
    inside[k] = i >= d.first && i < d.last;
    right[k] = y.data + member * members.y + (i + d.offset) * y.row;
  }
  T sum[kFew] = {};
  for (int64 c = lane; i < rows && c < columns; c += Lanes) {
    const T factor = load(left + c * x.col);
#pragma unroll
    for (int k = 0; k < kFew; ++k) {
      if (inside[k]) sum[k] += multiply(factor, load(right[k] + c * y.col));
    }
  }
#pragma unroll
  for (int k = 0; k < kFew; ++k) {
    const T total = sum_of_lanes<Lanes>(sum[k]);
    if (inside[k] && lane == 0) {
      store_once(values + member * members.c + (diagonals[group.first + k].base + i), total);
    }
  }
}

// ---- All diagonals ------------------------------------------------------------------------------------------------
// Calls run(first group, number of groups) for as many groups as a launch can have.
template <class F>
void for_each_launch(int groups, const F& run) {
  constexpr int most = 65535;
  for (int first = 0; first < groups; first += most) run(first, static_cast<unsigned>(std::min(groups - first, most)));
}

template <class T>
void run_columns(const ResidentDiagonals& resident, const Dense& x, const Dense& y, Matrix& c, Members members) {
  const Block<const T> from_x(x), from_y(y);
  members.tiles = static_cast<unsigned>(ceil_div(c.rows, kTileRows));
  for_each_launch(resident.near_count, [&](int first, unsigned some) {
    const dim3 grid(static_cast<unsigned>(members.tiles * members.count), some);
    launch("sampled diagonals", near<T>, grid, dim3(Tile<T>::threads), resident.begin(), resident.near_groups() + first,
           from_x, from_y, x.cols, c.values.as<T>(), c.rows, c.cols, members);
  });
  const auto run_far = [&](auto* kernel, int lanes) {
    members.tiles = static_cast<unsigned>(ceil_div(c.rows, kBlock / lanes));
    for_each_launch(resident.far_count, [&](int first, unsigned some) {
      const dim3 grid(static_cast<unsigned>(members.tiles * members.count), some);
      launch("sampled diagonals", kernel, grid, dim3(kBlock), resident.begin(), resident.far_groups() + first, from_x,
             from_y, x.cols, c.values.as<T>(), c.rows, members);
    });
  };
  if (x.cols < 8) run_far(far<T, 4>, 4);
  else run_far(far<T, 8>, 8);
}

}  // namespace diagsparse::cuda::sampled
