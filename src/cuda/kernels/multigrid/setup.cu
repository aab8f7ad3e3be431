// The set-up of multigrid: the coefficients of a grid from the diagonals of a matrix, and those of the next level.
#include "core/grid_interpolation.hpp"
#include "kernels/multigrid/points.cuh"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

using diagsparse::multigrid::weight_between;

namespace {

constexpr int kMaxima = 3, kSums = kMaxima + 27;  // of `Statistics`

// The offset of a diagonal as a distance along each axis, of which the last two are not negative.
std::array<int, 3> distance(const Grid& grid, int64 offset) {
  const auto split = [](int64 v, int64 n) {
    const int64 rest = (v % n + n) % n;
    return std::array<int64, 2>{(v - rest) / n, rest};
  };
  const auto [lines, x] = split(offset, grid.size[2]);
  const auto [slabs, y] = split(lines, grid.size[1]);
  return {static_cast<int>(slabs), static_cast<int>(y), static_cast<int>(x)};
}

// flags[0]: an element does not fit; flags[1 + d]: one couples points over the ends of axis d
__global__ void place_kernel(Grid grid, std::array<int, 3> apart, int64 offset, const double* diagonal,
                             double* coefficients, int* flags) {
  const int64 n = grid.points(), begin = offset < 0 ? -offset : 0, end = offset < 0 ? n : n - offset;
  for_points(grid.size, [&](int z, int y, int x) {
    const std::array<int, 3> from{z, y, x};
    const int64 row = row_of(grid.size, z, y, x);
    if (row < begin || row >= end) return;
    std::array<int, 3> to{z + apart[0], y + apart[1], x + apart[2]};
    if (to[2] >= grid.size[2]) {
      to[2] -= grid.size[2];
      ++to[1];
    }
    if (to[1] >= grid.size[1]) {
      to[1] -= grid.size[1];
      ++to[0];
    }
    const double v = diagonal[row - begin];
    const Step step = grid.between(from, to);
    const int s = step[0] > 1 ? -1 : grid.steps.position(step);
    if (s >= 0) coefficients[s * n + row] = v;
    if (v == 0) return;
    if (s < 0) flags[0] = 1;
    else {
      for (int d = 0; d < 3; ++d) {
        if (to[d] - from[d] != step[d]) flags[1 + d] = 1;
      }
    }
  });
}

// flags[0]: an element on the main diagonal is not positive; flags[1]: two elements differ
__global__ void definite_kernel(Grid grid, const double* coefficients, double tolerance, int* flags) {
  const double* center = coefficients + grid.center() * grid.points();
  for_points(grid.size, [&](int z, int y, int x) {
    const int64 row = row_of(grid.size, z, y, x);
    if (!(center[row] > 0)) flags[0] = 1;
    if (!is_finite(center[row])) flags[1] = 1;
    for (int s = 0; s < grid.steps.size(); ++s) {
      const Step& o = grid.steps[s];
      if (code(o) <= code({0, 0, 0}) && grid.steps.position({-o[0], -o[1], -o[2]}) >= 0) continue;
      const int to[] = {grid.neighbour(0, z, o[0]), grid.neighbour(1, y, o[1]), grid.neighbour(2, x, o[2])};
      if (to[0] < 0 || to[1] < 0 || to[2] < 0) continue;
      if (grid.differ(coefficients, s, row, row_of(grid.size, to[0], to[1], to[2]), tolerance)) flags[1] = 1;
    }
  });
}

template <int Count>
__global__ void statistics_kernel(int64 n, int center, const double* coefficients, double* parts) {
  double all[kMaxima + Count] = {};
  for_elements(n, [&](int64 i) {
    double sum = 0, size = 0, d = 0;
#pragma unroll
    for (int s = 0; s < Count; ++s) {
      const double a = load_once(coefficients + s * n + i);
      sum += a;
      size += fabs(a);
      d = s == center ? fabs(a) : d;
      all[kMaxima + s] += fabs(a);
    }
    all[0] = fmax(all[0], fabs(sum));
    all[1] = fmax(all[1], size);
    if (d > 0) all[2] = fmax(all[2], size / d);
  });
#pragma unroll
  for (int k = 0; k < kMaxima + Count; ++k) {
    const double v = k < kMaxima ? reduced<true>(all[k]) : reduced<false>(all[k]);
    if (threadIdx.x == 0) parts[blockIdx.x * kSums + k] = v;
  }
}

// The same for any number of steps.
__global__ void any_statistics_kernel(Grid grid, const double* coefficients, double* parts) {
  const int64 n = grid.points();
  double maxima[kMaxima] = {};
  for (int s = -1; s < grid.steps.size(); ++s) {  // -1: what belongs to all steps together
    double total = 0;
    for_elements(n, [&](int64 i) {
      if (s >= 0) {
        total += fabs(coefficients[s * n + i]);
        return;
      }
      double sum = 0, size = 0;
      for (int k = 0; k < grid.steps.size(); ++k) {
        const double a = coefficients[k * n + i];
        sum += a;
        size += fabs(a);
      }
      const double d = fabs(coefficients[grid.center() * n + i]);
      maxima[0] = fmax(maxima[0], fabs(sum));
      maxima[1] = fmax(maxima[1], size);
      if (d > 0) maxima[2] = fmax(maxima[2], size / d);
    });
    if (s >= 0) {
      total = reduced<false>(total);
      if (threadIdx.x == 0) parts[blockIdx.x * kSums + kMaxima + s] = total;
    }
  }
  for (int k = 0; k < kMaxima; ++k) {
    const double v = reduced<true>(maxima[k]);
    if (threadIdx.x == 0) parts[blockIdx.x * kSums + k] = v;
  }
}

template <class T>
__global__ void rounded_kernel(Grid grid, const double* coefficients, T* result) {
  const int64 n = grid.points();
  const int center = grid.center();
  for_elements(n, [&](int64 i) {
    double lost = 0;
    for (int s = 0; s < grid.steps.size(); ++s) {
      if (s == center) continue;
      const double a = coefficients[s * n + i];
      const T v = static_cast<T>(a);
      result[s * n + i] = v;
      lost += a - static_cast<double>(v);
    }
    result[center * n + i] = static_cast<T>(coefficients[center * n + i] + lost);
  });
}

// The weights of fine points that are between coarse ones on this number of axes.
__global__ void interpolation_kernel(Grid grid, std::array<int64, 3> size, Steps targets, int axes,
                                     const double* coefficients, double* weights) {
  const int64 count = size[0] * size[1] * size[2];
  for_points(size, [&](int z, int y, int x) {
    const int64 c = row_of(size, z, y, x);
    for (int k = 0; k < targets.size(); ++k) {
      const Step& t = targets[k];
      if ((t[0] != 0) + (t[1] != 0) + (t[2] != 0) != axes) continue;
      const int at[] = {grid.fine(0, z, t[0]), grid.fine(1, y, t[1]), grid.fine(2, x, t[2])};
      const bool exists = at[0] >= 0 && at[1] >= 0 && at[2] >= 0;
      const int64 row = exists ? row_of(grid.size, at[0], at[1], at[2]) : 0;
      weights[k * count + c] = exists ? weight_between(grid, targets, coefficients, weights, row, c, t) : 0;
    }
  });
}

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

Placed place(const Grid& grid, int64 offset, const double* diagonal, double* coefficients) {
  const PointBlocks shape(grid.size);
  const Array flags = upload(std::vector<int>(4));
  launch("multigrid_place", place_kernel, shape.grid, shape.block, grid, distance(grid, offset), offset, diagonal,
         coefficients, static_cast<int*>(flags.data));
  const std::vector<int> found = download(static_cast<const int*>(flags.data), 4);
  return {found[0] == 0, {found[1] != 0, found[2] != 0, found[3] != 0}};
}

Definite definite(const Grid& grid, const double* coefficients, double tolerance) {
  const PointBlocks shape(grid.size);
  const Array flags = upload(std::vector<int>(2));
  launch("multigrid_definite", definite_kernel, shape.grid, shape.block, grid, coefficients, tolerance,
         static_cast<int*>(flags.data));
  const std::vector<int> found = download(static_cast<const int*>(flags.data), 2);
  return {found[0] == 0, found[1] == 0};
}

Statistics statistics(const Grid& grid, const double* coefficients) {
  const Scratch<double> parts(kParts * kSums);
  const auto start = [&](auto count) {
    launch("multigrid_statistics", statistics_kernel<count()>, dim3(kParts), dim3(kBlock), grid.points(), grid.center(),
           coefficients, parts.get());
  };
  const int count = grid.steps.size();
  if (count == 5) start(std::integral_constant<int, 5>());
  else if (count == 7) start(std::integral_constant<int, 7>());
  else if (count == 9) start(std::integral_constant<int, 9>());
  else if (count == 27) start(std::integral_constant<int, 27>());
  else {
    launch("multigrid_statistics", any_statistics_kernel, dim3(kParts), dim3(kBlock), grid, coefficients, parts.get());
  }
  const std::vector<double> found = download(static_cast<const double*>(parts.get()), kParts * kSums);
  Statistics all;
  for (auto one = found.begin(); one != found.end(); one += kSums) {
    all.add({one[0], one[1], one[2], {one + kMaxima, one + kMaxima + grid.steps.size()}});
  }
  return all;
}

template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result) {
  launch("multigrid_rounded", rounded_kernel<T>, blocks(grid.points()), dim3(kBlock), grid, coefficients, result);
}
template void rounded(const Grid&, const double*, float*);
template void rounded(const Grid&, const double*, double*);

void interpolation(const Grid& grid, const double* coefficients, double* weights) {
  const auto size = grid.coarse_size();
  const PointBlocks shape(size);
  for (int axes = 1; axes <= 3; ++axes) {
    launch("multigrid_interpolation", interpolation_kernel, shape.grid, shape.block, grid, size, grid.targets(), axes,
           coefficients, weights);
  }
}

void galerkin(const Grid& grid, const double* coefficients, const double* weights, double* coarse) {
  const auto size = grid.coarse_size();
  const PointBlocks shape(size);
  const auto start = [&](auto kernel) {
    launch("multigrid_galerkin", kernel, shape.grid, shape.block, grid, size, grid.targets(), grid.coarse_steps(),
           coefficients, weights, coarse);
  };
  bool inside = true;
  for (int d = 0; d < 3; ++d) inside &= !grid.periodic[d] && (grid.coarsened[d] || grid.size[d] == 1);
  switch (inside ? grid.steps.set() : 0) {
    case kFive: return start(galerkin_inside_kernel<false, false>);
    case kNine: return start(galerkin_inside_kernel<false, true>);
    case kSeven: return start(galerkin_inside_kernel<true, false>);
    case kAll: return start(galerkin_inside_kernel<true, true>);
    default: return start(galerkin_kernel);
  }
}

}  // namespace diagsparse::cuda::multigrid
