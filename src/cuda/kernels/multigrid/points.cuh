// A thread for each point of a grid, and sums over its neighbours.
#pragma once

#include "device/launch.cuh"
#include "device/values.cuh"
#include "kernels/multigrid/multigrid.hpp"

namespace diagsparse::cuda::multigrid {

using diagsparse::multigrid::code, diagsparse::multigrid::step_of;

// Blocks of threads, each with a part of some consecutive lines: x is fastest, and y counts lines.
struct PointBlocks {
  dim3 grid, block;
  explicit PointBlocks(const std::array<int64, 3>& size) {
    unsigned across = 32;
    while (across < kBlock && across < size[2]) across *= 2;
    block = dim3(across, kBlock / across);
    const int64 lines = ceil_div(size[0] * size[1], block.y);
    grid = dim3(static_cast<unsigned>(ceil_div(size[2], across)), static_cast<unsigned>(std::min<int64>(lines, 65535)));
  }
};

// Calls f(z, y, x) for the points of this thread. Coordinates have 32 bits, which are much quicker.
template <class F>
__device__ void for_points(const std::array<int64, 3>& size, const F& f) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (x >= size[2]) return;
  const int ny = static_cast<int>(size[1]);
  const int64 lines = size[0] * size[1];
  for (int64 line = static_cast<int64>(blockIdx.y) * blockDim.y + threadIdx.y; line < lines;
       line += static_cast<int64>(gridDim.y) * blockDim.y) {
    const int z = ny == 1 ? static_cast<int>(line)
                          : static_cast<int>(lines <= 0x7fffffff ? static_cast<unsigned>(line) / ny : line / ny);
    f(z, static_cast<int>(line - static_cast<int64>(z) * ny), x);
  }
}

// The row of a point.
__device__ inline int64 row_of(const std::array<int64, 3>& size, int z, int y, int x) {
  return (z * size[1] + y) * size[2] + x;
}

// How far the neighbours of a point are in memory, on each axis; 0 where there is none, whose coefficient is 0.
class Neighbours {
 public:
  __device__ Neighbours(const Grid& grid, int z, int y, int x) {
    row = row_of(grid.size, z, y, x);
    set(grid, 0, z, grid.size[1] * grid.size[2]);
    set(grid, 1, y, grid.size[2]);
    set(grid, 2, x, 1);
  }
  __device__ int64 at(int sz, int sy, int sx) const { return row + along(0, sz) + along(1, sy) + along(2, sx); }
  int64 row;

 private:
  __device__ void set(const Grid& grid, int axis, int at, int64 stride) {
    const int n = static_cast<int>(grid.size[axis]);
    const bool periodic = grid.periodic[axis];
    back_[axis] = at > 0 ? -stride : periodic ? (n - 1) * stride : 0;
    ahead_[axis] = at + 1 < n ? stride : periodic ? (1 - n) * stride : 0;
  }
  __device__ int64 along(int axis, int s) const { return s < 0 ? back_[axis] : s > 0 ? ahead_[axis] : 0; }
  int64 back_[3], ahead_[3];
};

// The sum of the coefficients of a point, each times the value of its neighbour. `Set` has the steps of a common grid
// as bits, so that loops are unrolled; 0 stands for any grid.
template <unsigned Set, class T, class Value>
__device__ T sum_over(const Grid& grid, const T* coefficients, const Neighbours& of, const Value& value) {
  const int64 n = grid.points();
  T sum = 0;
  if constexpr (Set == 0) {
    for (int s = 0; s < grid.steps.size(); ++s) {
      const Step& o = grid.steps[s];
      sum += load_once(coefficients + s * n + of.row) * value(of.at(o[0], o[1], o[2]));
    }
  } else {
    const T* a = coefficients + of.row;
#pragma unroll
    for (int c = 0; c < 27; ++c) {
      if (Set >> c & 1) {
        sum += load_once(a) * value(of.at(c / 9 - 1, c / 3 % 3 - 1, c % 3 - 1));
        a += n;
      }
    }
  }
  return sum;
}

// The steps of common grids: to the neighbours on each axis, or to all, of two axes or three.
constexpr unsigned common_steps(bool all, bool three_axes) {
  unsigned set = 0;
  for (int c = 0; c < 27; ++c) {
    const Step s = step_of(c);
    const int moves = (s[0] != 0) + (s[1] != 0) + (s[2] != 0);
    if ((s[1] == 0 || three_axes) && (moves <= 1 || all)) set |= 1u << c;
  }
  return set;
}
constexpr unsigned kFive = common_steps(false, false), kNine = common_steps(true, false);
constexpr unsigned kSeven = common_steps(false, true), kAll = common_steps(true, true);
static_assert(Steps(kFive).size() == 5 && Steps(kNine).size() == 9 && Steps(kSeven).size() == 7);

// Calls f with the steps of a grid as a constant, if they are common, else with 0.
template <class F>
void with_steps(const Grid& grid, const F& f) {
  switch (grid.steps.set()) {
    case kFive: return f(std::integral_constant<unsigned, kFive>());
    case kNine: return f(std::integral_constant<unsigned, kNine>());
    case kSeven: return f(std::integral_constant<unsigned, kSeven>());
    case kAll: return f(std::integral_constant<unsigned, kAll>());
    default: return f(std::integral_constant<unsigned, 0>());
  }
}

// Whether all axes with more than one point are coarsened, and none is periodic.
inline bool coarsened_inside(const Grid& grid) {
  bool inside = true;
  for (int d = 0; d < 3; ++d) inside &= !grid.periodic[d] && (grid.coarsened[d] || grid.size[d] == 1);
  return inside;
}

// v / d, or 0 where the row is empty.
__device__ inline float divided(float v, float d) { return d != 0 ? __fdividef(v, d) : 0; }
__device__ inline double divided(double v, double d) { return d != 0 ? v / d : 0; }

}  // namespace diagsparse::cuda::multigrid
