// A level of multigrid: a matrix whose rows are the points of a grid, and whose elements couple neighbouring points.
//
// A grid has three axes, slabs of lines of points, from the slowest to the fastest; a grid of two axes has one line in
// each slab, and a grid of one axis is a single line. The point (z, y, x) is row (z ny + y) nx + x. Each step, such as
// (0, 0, 1), has a diagonal with one coefficient for each row, that of the point's neighbour in this direction:
//
//     steps         (-1,0,0) (0,0,-1) (0,0,0) (0,0,1) (1,0,0)      the grid of 2 x 3 points, without lines
//     coefficients      0        0       4      -1      -1         row 0: the point (0, 0, 0)
//                       0       -1       4      -1      -1         row 1
//                       0       -1       4       0      -1
//                      -1        0       4      -1       0
//                      -1       -1       4      -1       0
//                      -1       -1       4       0       0         row 5: the point (1, 0, 2)
//
// The values of a step are contiguous, one step after another. Neighbours beyond the ends of an axis have coefficients
// of 0, unless it is periodic. The next level has every second point, 0, 2, 4, ..., of the axes that are coarsened.
#pragma once

#include <array>
#include <vector>

#include "core/types.hpp"

namespace diagsparse::multigrid {

using Step = std::array<int, 3>;
constexpr Step kCenter{0, 0, 0};

// A number for each of the 27 steps.
inline int code(const Step& s) { return (s[0] + 1) * 9 + (s[1] + 1) * 3 + s[2] + 1; }
inline Step step_of(int code) { return {code / 9 - 1, code / 3 % 3 - 1, code % 3 - 1}; }

// The position of each step in a list, by its number, or -1.
inline std::array<int, 27> positions(const std::vector<Step>& steps) {
  std::array<int, 27> at;
  at.fill(-1);
  for (std::size_t s = 0; s < steps.size(); ++s) at[code(steps[s])] = static_cast<int>(s);
  return at;
}

struct Grid {
  std::array<int64, 3> size;
  std::array<bool, 3> periodic;
  std::array<bool, 3> coarsened;
  std::vector<Step> steps;  // of the matrix; the center is one of them

  int64 points() const { return size[0] * size[1] * size[2]; }
  std::array<int64, 3> coarse_size() const {
    std::array<int64, 3> coarse = size;
    for (int d = 0; d < 3; ++d) coarse[d] = coarsened[d] ? (size[d] + 1) / 2 : size[d];
    return coarse;
  }
  int64 coarse_points() const {
    const auto coarse = coarse_size();
    return coarse[0] * coarse[1] * coarse[2];
  }
  int center() const {
    for (int s = 0; s < static_cast<int>(steps.size()); ++s) {
      if (steps[s] == kCenter) return s;
    }
    return -1;
  }

  // The steps from a coarse point to the fine points that it is interpolated to, without (0, 0, 0), whose weight is 1.
  // Their weights are stored like coefficients: a value for each coarse point, one step after another.
  std::vector<Step> targets() const {
    std::vector<Step> all;
    for (int c = 0; c < 27; ++c) {
      const Step t = step_of(c);
      bool fits = t != kCenter;
      for (int d = 0; d < 3; ++d) fits &= t[d] == 0 || coarsened[d];
      if (fits) all.push_back(t);
    }
    return all;
  }

  // The point at a distance of one step on an axis, or -1 if there is none.
  int64 neighbour(int axis, int64 at, int step) const {
    const int64 to = at + step, n = size[axis];
    if (to >= 0 && to < n) return to;
    return periodic[axis] ? (to + n) % n : -1;
  }

  // On a coarsened axis, the coarse point from which step t leads to a fine point, or -1. An odd number of points on a
  // periodic axis has two neighbouring coarse points at its ends, so that no fine point is between them.
  int64 coarse(int axis, int64 at, int t) const {
    if (!coarsened[axis]) return t == 0 ? at : -1;
    const int64 twice = at - t, n = size[axis];
    if (twice < 0 || twice % 2) return -1;
    if (twice < n) return twice / 2;
    return periodic[axis] && n % 2 == 0 ? 0 : -1;
  }
  // The fine point at step t from a coarse one, or -1.
  int64 fine(int axis, int64 at, int t) const {
    if (!coarsened[axis]) return t == 0 ? at : -1;
    const int64 to = 2 * at + t, n = size[axis];
    if (to >= 0 && to < n) return to;
    return periodic[axis] && n % 2 == 0 ? (to + n) % n : -1;
  }
};

}  // namespace diagsparse::multigrid
