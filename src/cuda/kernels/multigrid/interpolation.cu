// The weights of interpolation from the next level. A thread computes all those of a coarse point, which depend on each
// other: first of the fine points that are between coarse ones on one axis.
#include "core/grid_interpolation.hpp"
#include "kernels/multigrid/points.cuh"

namespace diagsparse::cuda::multigrid {

using diagsparse::multigrid::weight_between;

namespace {

__global__ void interpolation_kernel(Grid grid, std::array<int64, 3> size, Steps targets, const double* coefficients,
                                     double* weights) {
  const int64 count = size[0] * size[1] * size[2];
  for_points(size, [&](int z, int y, int x) {
    const int64 c = row_of(size, z, y, x);
    for (int axes = 1; axes <= 3; ++axes) {
      for (int k = 0; k < targets.size(); ++k) {
        const Step& t = targets[k];
        if ((t[0] != 0) + (t[1] != 0) + (t[2] != 0) != axes) continue;
        const int at[] = {grid.fine(0, z, t[0]), grid.fine(1, y, t[1]), grid.fine(2, x, t[2])};
        const bool exists = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
        const int64 row = exists ? row_of(grid.size, at[0], at[1], at[2]) : 0;
        weights[k * count + c] = exists ? weight_between(grid, targets, coefficients, weights, row, c, t) : 0;
      }
    }
  });
}

// The same where all axes with more than one point are coarsened, and none is periodic.
template <bool Three, bool All>
__global__ void interpolation_inside_kernel(Grid grid, std::array<int64, 3> size, const double* coefficients,
                                            double* weights) {
  constexpr int kY = Three ? 1 : 0;  // the second axis of a plane has one point
  const int64 n = grid.points(), count = size[0] * size[1] * size[2];
  for_points(size, [&](int z, int y, int x) {
    const int64 c = row_of(size, z, y, x);
    double known[27];  // by the number of the step
    known[code({0, 0, 0})] = 1;
#pragma unroll
    for (int axes = 1; axes <= 3; ++axes) {
#pragma unroll
      for (int k = 0; k < 27; ++k) {
        constexpr auto moves = [](int sz, int sy, int sx) { return (sz != 0) + (sy != 0) + (sx != 0); };
        const int tz = k / 9 - 1, ty = k / 3 % 3 - 1, tx = k % 3 - 1;
        if (moves(tz, ty, tx) != axes || (!Three && ty != 0)) continue;
        const int at[] = {2 * z + tz, Three ? 2 * y + ty : 0, 2 * x + tx};
        bool inside = true;
#pragma unroll
        for (int d = 0; d < 3; ++d) inside &= at[d] >= 0 && at[d] < grid.size[d];
        double center = 0, sum = 0;
        if (inside) {
          const double* a = coefficients + row_of(grid.size, at[0], at[1], at[2]);
#pragma unroll
          for (int oz = -1; oz <= 1; ++oz) {
#pragma unroll
            for (int oy = -kY; oy <= kY; ++oy) {
#pragma unroll
              for (int ox = -1; ox <= 1; ++ox) {
                if (!All && moves(oz, oy, ox) > 1) continue;
                const double v = load(a);
                a += n;
                // As in weight_between: o has to lead towards the coarse point on the axes of t, or to stay there.
                if ((tz != 0 && oz == tz) || (ty != 0 && oy == ty) || (tx != 0 && ox == tx)) continue;
                const int rz = oz == 0 ? tz : 0, ry = oy == 0 ? ty : 0, rx = ox == 0 ? tx : 0;
                if (rz == tz && ry == ty && rx == tx) center += v;
                else sum += v * known[code({rz, ry, rx})];
              }
            }
          }
        }
        known[k] = center > 0 ? -sum / center : 0;
      }
    }
    double* w = weights + c;
#pragma unroll
    for (int k = 0; k < 27; ++k) {
      if (k == code({0, 0, 0}) || (!Three && k / 3 % 3 != 1)) continue;
      *w = known[k];
      w += count;
    }
  });
}

}  // namespace

void interpolation(const Grid& grid, const double* coefficients, double* weights) {
  const auto size = grid.coarse_size();
  const PointBlocks shape(size);
  const auto start = [&](auto kernel) {
    launch("multigrid_interpolation", kernel, shape.grid, shape.block, grid, size, coefficients, weights);
  };
  switch (coarsened_inside(grid) ? grid.steps.set() : 0) {
    case kFive: return start(interpolation_inside_kernel<false, false>);
    case kNine: return start(interpolation_inside_kernel<false, true>);
    case kSeven: return start(interpolation_inside_kernel<true, false>);
    case kAll: return start(interpolation_inside_kernel<true, true>);
    default:
      launch("multigrid_interpolation", interpolation_kernel, shape.grid, shape.block, grid, size, grid.targets(),
             coefficients, weights);
  }
}

}  // namespace diagsparse::cuda::multigrid
