// The set-up of multigrid: the coefficients of a grid from the diagonals of a matrix, one diagonal after the other, and
// in another type.
#include "kernels/multigrid/points.cuh"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

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

template <class T>
void rounded(const Grid& grid, const double* coefficients, T* result) {
  launch("multigrid_rounded", rounded_kernel<T>, blocks(grid.points()), dim3(kBlock), grid, coefficients, result);
}
template void rounded(const Grid&, const double*, float*);
template void rounded(const Grid&, const double*, double*);

}  // namespace diagsparse::cuda::multigrid
