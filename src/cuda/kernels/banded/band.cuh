// Bands as block tridiagonal matrices, and the levels of their elimination by cyclic reduction.
//
// Blocks have b rows and columns, at least as many as the band reaches to each side, so that a row of blocks is
//
//   L x[j - 1] + D x[j] + U x[j + 1] = rhs[j]
//
// A level eliminates its odd blocks, with pivoting inside of a block alone, and the even ones are the next level:
//
//   level 0    0  1  2  3  4  5  6  7  8        odd:   x[j] = D^-1 rhs[j] - E x[j - 1] - F x[j + 1]
//   level 1    0     1     2     3     4               with  E = D^-1 L,  F = D^-1 U
//   level 2    0           1           2        even:  D -= L F[j - 1] + U E[j + 1],  rhs likewise,
//   level 3    0                       1               L = -L E[j - 1],  U = -U F[j + 1]
//   level 4    0
//
// The last block is eliminated on its own. Blocks are stored by columns. The last one is extended by rows of the
// identity.
#pragma once

#include "core/arithmetic.hpp"
#include "device/launch.cuh"
#include "device/values.cuh"
#include "kernels/tridiagonal/arithmetic.cuh"

namespace diagsparse::cuda::banded {

using tridiagonal::less_product;
using tridiagonal::magnitude;
using tridiagonal::minus;
using tridiagonal::unchecked_reciprocal;

constexpr int kMostReach = 64;  // diagonals on each side
constexpr int kMostDiagonals = 2 * kMostReach + 1;
constexpr int kMostLevels = 48;
constexpr int64 kAbsent = int64{-1} << 62;  // in `first`: a diagonal of zeros

// The diagonals of a matrix of n rows: the element (i, i + k) is values[first[k + below] + i]. There is at least one
// value.
template <class T>
struct Band {
  const T* values;
  int64 n;
  int below, above;
  bool conjugated;
  int64 first[kMostDiagonals];
};

// A band whose table of diagonals is in shared memory, because lanes read different ones.
template <class T>
struct BandView {
  const T* values;
  int64 n;
  int below, above;
  bool conjugated;
  const int64* first;

  // The threads of the block have to call it together.
  __device__ BandView(const Band<T>& a, int64 (&table)[kMostDiagonals])
      : values(a.values), n(a.n), below(a.below), above(a.above), conjugated(a.conjugated), first(table) {
    for (int k = static_cast<int>(threadIdx.x); k <= below + above; k += static_cast<int>(blockDim.x)) {
      table[k] = a.first[k];
    }
    __syncthreads();
  }
  // The element (row, row + k); of the identity from row n on. Without branches, so that many are read at once.
  __device__ T at(int64 row, int k) const {
    const int64 column = row + k;
    const int64 start = first[min(max(k + below, 0), below + above)];
    const bool inside = -below <= k && k <= above && row < n && column >= 0 && column < n && start != kAbsent;
    const T value = load(inside ? values + start + row : values);
    if (inside) return conjugate_if(conjugated, value);
    return convert<T>(k == 0 && row >= n ? 1 : 0);
  }
  // The same for an element of the band that is inside of the matrix.
  __device__ T inside(int64 row, int k) const {
    const int64 start = first[k + below];
    return start == kAbsent ? T{} : conjugate_if(conjugated, load(values + start + row));
  }
};

// A level. `solved` has D^-1, E and F of each block that it eliminates, `couplings` L and U of each other block, and
// `main` D of these. The last two of level 0 are null: there they are elements of the band.
template <class T>
struct Level {
  int64 count;  // of blocks
  T *solved, *couplings, *main;

  __host__ __device__ int64 eliminated() const { return count == 1 ? 1 : count / 2; }
};
template <class T>
struct Levels {
  Level<T> level[kMostLevels];
};

// A block of a level.
struct Position {
  int64 block;
  bool eliminated;
};
// The i-th one to be processed. On the lowest level, these are the blocks that are eliminated. Above it, they are all,
// in tiles of neighbours, whose first half is eliminated, so that warps do the same for all of their blocks. The size
// of tiles is 1 or even.
template <class T>
__device__ Position position(const Level<T>& level, int64 i, int tile, bool lowest) {
  if (level.count == 1) return {0, true};
  if (lowest) return {2 * i + 1, true};
  const int64 start = i / tile * tile, rest = i - start, odd = min(static_cast<int64>(tile), level.count - start) / 2;
  const int64 block = start + (rest < odd ? 2 * rest + 1 : 2 * (rest - odd));
  return {block, block % 2 == 1};
}

// A value that threads of this kernel may have written.
template <class T>
__device__ T read(const T* p) {
  return from_bits<T>(*reinterpret_cast<const Bits<T>*>(p));
}

// Magnitudes as integers of the same order, rounded down; NaN is above all of them.
inline __device__ unsigned ordered(double v) { return static_cast<unsigned>(__double2hiint(v)) & 0x7fffffffu; }
inline __device__ unsigned ordered(float v) { return static_cast<unsigned>(__float_as_int(v)) & 0x7fffffffu; }
template <class T>
__device__ unsigned size_of(T v) {
  return ordered(magnitude(v));
}
template <class R>
__device__ R of_size(unsigned size) {
  if constexpr (sizeof(R) == 8) return __hiloint2double(static_cast<int>(size), 0);
  else return __int_as_float(static_cast<int>(size));
}

// Solutions have to be verified if the absolute values in a row of E and F add up to more than kMostCoupling, which in
// diagonally dominant matrices is at most 1; if an element of D^-1 times the largest one in the row of D that belongs
// to it exceeds kMostCondition; or if the largest element in a row of D changes by more than these factors when
// neighbours are eliminated.
constexpr float kMostCoupling = 1.5f;
constexpr int kMostCondition = 256, kMostGrowth = 4;
constexpr float kLeastFraction = 1.0f / 16;
template <class R>
__device__ bool steady(unsigned before, unsigned after) {
  const R size = of_size<R>(before), now = of_size<R>(after);
  return kLeastFraction * size <= now && now <= kMostGrowth * size;
}

}  // namespace diagsparse::cuda::banded
