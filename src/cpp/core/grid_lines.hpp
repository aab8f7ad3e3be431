// Elimination along the lines of a grid, whose matrices are tridiagonal.
#pragma once

#include "core/grid.hpp"

namespace diagsparse::multigrid {

// The pivot of a point on a line, from its row and `before`, upper / pivot of the point before.
//
// On a periodic axis, the elements that couple the two ends of a line are left out, and their absolute values added to
// the main diagonal: the matrix of the line can only become larger, so that smoothing stays stable.
constexpr double pivot_on_line(double lower, double center, double upper, double before, bool first, bool last,
                               bool periodic) {
  double pivot = center;
  if (first && periodic) pivot += lower < 0 ? -lower : lower;
  if (last && periodic) pivot += upper < 0 ? -upper : upper;
  if (!first) pivot -= lower * before;
  return pivot > 0 ? pivot : center;
}

}  // namespace diagsparse::multigrid
