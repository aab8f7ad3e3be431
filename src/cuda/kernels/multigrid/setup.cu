// The set-up of multigrid: the coefficients of a grid from the diagonals of a matrix, what they are like, and the
// interpolation from the next level.
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

}  // namespace diagsparse::cuda::multigrid
