// The matrix of the next level: the product of restriction, matrix and interpolation.
#include "kernels/multigrid/points.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

// On one axis: the fine point at step t from a coarse one, and the coarse point from which step u leads to the
// neighbour of the fine one in direction o, with the step between the two coarse points.
struct Pair {
  int fine, coarse, step;
};
__device__ bool paired(const Grid& grid, int axis, int size, int at, int t, int o, int u, Pair& pair) {
  pair.fine = grid.fine(axis, at, t);
  if (pair.fine < 0) return false;
  const int to = grid.neighbour(axis, pair.fine, o);
  pair.coarse = to < 0 ? -1 : grid.coarse(axis, to, u);
  if (pair.coarse < 0) return false;
  const int step = pair.coarse - at;
  pair.step = step > 1 ? step - size : step < -1 ? step + size : step;
  return true;
}

__global__ void galerkin_kernel(Grid grid, std::array<int64, 3> size, Steps targets, Steps steps,
                                const double* coefficients, const double* weights, double* coarse) {
  const int64 n = grid.points(), count = size[0] * size[1] * size[2];
  const auto weight = [&](int z, int y, int x, int64 c) {
    return z == 0 && y == 0 && x == 0 ? 1.0 : weights[targets.position({z, y, x}) * count + c];
  };
  const auto t_of = [](int k) { return k / 9 - 1; };
  const auto o_of = [](int k) { return k / 3 % 3 - 1; };
  const auto u_of = [](int k) { return k % 3 - 1; };
  for_points(size, [&](int z, int y, int x) {
    const int64 c = row_of(size, z, y, x);
    const int nz = static_cast<int>(size[0]), ny = static_cast<int>(size[1]), nx = static_cast<int>(size[2]);
    double sums[27] = {};
    for (int kz = 0; kz < 27; ++kz) {
      Pair pz, py, px;
      if (!paired(grid, 0, nz, z, t_of(kz), o_of(kz), u_of(kz), pz)) continue;
      for (int ky = 0; ky < 27; ++ky) {
        if (!paired(grid, 1, ny, y, t_of(ky), o_of(ky), u_of(ky), py)) continue;
        for (int kx = 0; kx < 27; ++kx) {
          const int s = grid.steps.position({o_of(kz), o_of(ky), o_of(kx)});
          if (s < 0 || !paired(grid, 2, nx, x, t_of(kx), o_of(kx), u_of(kx), px)) continue;
          const double a = coefficients[s * n + row_of(grid.size, pz.fine, py.fine, px.fine)];
          if (a == 0) continue;
          const int64 next = row_of(size, pz.coarse, py.coarse, px.coarse);
          sums[code({pz.step, py.step, px.step})] +=
              weight(t_of(kz), t_of(ky), t_of(kx), c) * a * weight(u_of(kz), u_of(ky), u_of(kx), next);
        }
      }
    }
    for (int s = 0; s < steps.size(); ++s) coarse[s * count + c] = sums[code(steps[s])];
  });
}

// The same where all axes with more than one point are coarsened, and none is periodic: first the product of the
// restriction and the matrix, in the row of a coarse point, for the fine points at most two steps away from it; then
// the product with the interpolation.
template <bool Three, bool All>
__global__ void galerkin_inside_kernel(Grid grid, std::array<int64, 3> size, Steps targets, Steps steps,
                                       const double* coefficients, const double* weights, double* coarse) {
  constexpr int kY = Three ? 1 : 0, kWide = Three ? 5 : 1;  // the second axis of a plane has one point
  const int64 n = grid.points(), count = size[0] * size[1] * size[2];
  for_points(size, [&](int z, int y, int x) {
    const int64 c = row_of(size, z, y, x);
    double product[5][kWide][5] = {};
#pragma unroll
    for (int tz = -1; tz <= 1; ++tz) {
#pragma unroll
      for (int ty = -kY; ty <= kY; ++ty) {
#pragma unroll
        for (int tx = -1; tx <= 1; ++tx) {
          const int at[] = {2 * z + tz, Three ? 2 * y + ty : 0, 2 * x + tx};
          bool inside = true;
#pragma unroll
          for (int d = 0; d < 3; ++d) inside &= at[d] >= 0 && at[d] < grid.size[d];
          if (!inside) continue;
          const bool center = tz == 0 && ty == 0 && tx == 0;
          const double w = center ? 1.0 : load(weights + targets.position({tz, ty, tx}) * count + c);
          const double* a = coefficients + row_of(grid.size, at[0], at[1], at[2]);
#pragma unroll
          for (int oz = -1; oz <= 1; ++oz) {
#pragma unroll
            for (int oy = -kY; oy <= kY; ++oy) {
#pragma unroll
              for (int ox = -1; ox <= 1; ++ox) {
                if (!All && (oz != 0) + (oy != 0) + (ox != 0) > 1) continue;
                product[tz + oz + 2][Three ? ty + oy + 2 : 0][tx + ox + 2] += w * load(a);
                a += n;
              }
            }
          }
        }
      }
    }
    int s = 0;
#pragma unroll
    for (int ez = -1; ez <= 1; ++ez) {
#pragma unroll
      for (int ey = -kY; ey <= kY; ++ey) {
#pragma unroll
        for (int ex = -1; ex <= 1; ++ex) {
          const int to[] = {z + ez, y + ey, x + ex};
          bool inside = true;
#pragma unroll
          for (int d = 0; d < 3; ++d) inside &= to[d] >= 0 && to[d] < size[d];
          double sum = 0;
          if (inside) {
            const int64 next = row_of(size, to[0], to[1], to[2]);
#pragma unroll
            for (int uz = -1; uz <= 1; ++uz) {
#pragma unroll
              for (int uy = -kY; uy <= kY; ++uy) {
#pragma unroll
                for (int ux = -1; ux <= 1; ++ux) {
                  const int pz = 2 * ez + uz, py = 2 * ey + uy, px = 2 * ex + ux;
                  if (pz < -2 || pz > 2 || py < -2 || py > 2 || px < -2 || px > 2) continue;
                  const bool center = uz == 0 && uy == 0 && ux == 0;
                  const double w = center ? 1.0 : load(weights + targets.position({uz, uy, ux}) * count + next);
                  sum += product[pz + 2][Three ? py + 2 : 0][px + 2] * w;
                }
              }
            }
          }
          coarse[s * count + c] = sum;
          ++s;
        }
      }
    }
  });
}

}  // namespace

void galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse) {
  const auto size = grid.coarse_size();
  const PointBlocks shape(size);
  const auto start = [&](auto kernel) {
    launch("multigrid_galerkin", kernel, shape.grid, shape.block, grid, size, grid.targets(), grid.coarse_steps(),
           coefficients, weights, coarse);
  };
  switch (coarsened_inside(grid) ? grid.steps.set() : 0) {
    case kFive: return start(galerkin_inside_kernel<false, false>);
    case kNine: return start(galerkin_inside_kernel<false, true>);
    case kSeven: return start(galerkin_inside_kernel<true, false>);
    case kAll: return start(galerkin_inside_kernel<true, true>);
    default: return start(galerkin_kernel);
  }
}

}  // namespace diagsparse::cuda::multigrid
