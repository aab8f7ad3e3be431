// Interpolation that depends on the coefficients: the weight of a coarse point for a fine one.
//
// J. E. Dendy, *Black box multigrid*, Journal of Computational Physics 48 (1982), 366-386.
#pragma once

#include "core/grid.hpp"

namespace diagsparse::multigrid {

// The weight of a coarse point for the fine point at step t from it, which is between two coarse points on the axes on
// which t is not zero. `row` is the row of the fine point, and c the number of the coarse one, whose weights for points
// between fewer axes are known.
constexpr double weight_between(const Grid& grid, const Steps& targets, const double* coefficients,
                                const double* weights, int64 row, int64 c, const Step& t) {
  const int64 n = grid.points(), count = grid.coarse_points();
  double center = 0, sum = 0;
  for (int s = 0; s < grid.steps.size(); ++s) {
    const Step& o = grid.steps[s];
    bool stays = true;  // on the axes of t
    bool leads = true;  // is towards the coarse point on some of these axes, and stays on the others
    Step rest = t;      // from the coarse point to the neighbour in direction o, as far as o is along the axes of t
    for (int d = 0; d < 3; ++d) {
      if (t[d] == 0) continue;
      stays &= o[d] == 0;
      leads &= o[d] == 0 || o[d] == -t[d];
      if (o[d] != 0) rest[d] = 0;
    }
    if (!leads) continue;
    const double a = coefficients[s * n + row];
    if (stays) center += a;
    else sum += a * (multigrid::stays(rest) ? 1 : weights[targets.position(rest) * count + c]);
  }
  return center > 0 ? -sum / center : 0;
}

}  // namespace diagsparse::multigrid
