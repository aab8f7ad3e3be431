// The coefficients of a grid from the diagonals of a matrix.
#include <algorithm>
#include <atomic>

#include "core/grid_lines.hpp"
#include "cpu/multigrid.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse::multigrid {

namespace {

constexpr int64 kLines = 64;  // in a task

// Calls f(first row, last row) for ranges of whole lines.
template <class F>
void for_rows(const Grid& grid, const F& f) {
  const int64 lines = grid.size[0] * grid.size[1], nx = grid.size[2];
  parallel_for((lines + kLines - 1) / kLines, grid.points(),
               [&](int64 task) { f(task * kLines * nx, std::min(lines, (task + 1) * kLines) * nx); });
}

}  // namespace

Placed place(const Grid& grid, int64 offset, const double* diagonal, double* coefficients) {
  const int64 n = grid.points(), nx = grid.size[2], begin = std::max<int64>(0, -offset),
              end = n - std::max<int64>(0, offset);
  std::atomic<bool> fits{true};
  std::array<std::atomic<bool>, 3> around{};
  for_rows(grid, [&](int64 first, int64 last) {
    last = std::min(last, end);
    for (int64 row = std::max(first, begin); row < last;) {
      // Consecutive rows in a line, whose elements are in consecutive columns of a line.
      const auto from = grid.point(row), to = grid.point(row + offset);
      const int64 count = std::min({nx - from[2], nx - to[2], last - row});
      const double* values = diagonal + row - begin;
      const Step step = grid.between(from, to);
      const int s = step[0] > 1 ? -1 : grid.steps.position(step);
      if (s >= 0) std::copy_n(values, count, coefficients + s * n + row);
      const bool zero = std::all_of(values, values + count, [](double v) { return v == 0; });
      if (!zero && s < 0) fits = false;
      for (int d = 0; d < 3; ++d) {
        if (!zero && s >= 0 && to[d] - from[d] != step[d]) around[d] = true;
      }
      row += count;
    }
  });
  return {fits, {around[0], around[1], around[2]}};
}

Definite definite(const Grid& grid, const double* coefficients, double tolerance) {
  std::atomic<bool> positive{true}, symmetric{true};
  const double* center = coefficients + grid.center() * grid.points();
  for_rows(grid, [&](int64 first, int64 last) {
    if (!std::all_of(center + first, center + last, [](double v) { return v > 0; })) positive = false;
    for (int s = 0; s < grid.steps.size(); ++s) {
      const Step& o = grid.steps[s];
      bool differ = false;
      for (int64 row = first; row < last; row += grid.size[2]) {
        const auto from = grid.point(row);
        const int64 z = grid.neighbour(0, from[0], o[0]), y = grid.neighbour(1, from[1], o[1]);
        if (z < 0 || y < 0) continue;
        for (int64 x = 0; x < grid.size[2]; ++x) {
          const int64 to = grid.neighbour(2, x, o[2]);
          if (to >= 0) differ |= grid.differ(coefficients, s, row + x, grid.row(std::array{z, y, to}), tolerance);
        }
      }
      if (differ) symmetric = false;
    }
  });
  return {positive, symmetric};
}

template <class T>
void pivots(const Grid& grid, int axis, const double* coefficients, T* inverse) {
  const int64 n = grid.points(), count = grid.size[axis],
              stride = axis == 0   ? grid.size[1] * grid.size[2]
                       : axis == 1 ? grid.size[2]
                                   : 1;
  const double *center = coefficients + grid.center() * n,
               *lower = coefficients + grid.neighbour_position(axis, -1) * n,
               *upper = coefficients + grid.neighbour_position(axis, 1) * n;
  const int64 pieces = (stride + kLines - 1) / kLines;
  parallel_for(n / count / stride * pieces, 8 * n, [&](int64 task) {
    const int64 column = task % pieces * kLines, width = std::min(kLines, stride - column),
                first = task / pieces * stride * count + column;
    std::array<double, kLines> before{};
    for (int64 k = 0; k < count; ++k) {
      for (int64 j = 0; j < width; ++j) {
        const int64 i = first + k * stride + j;
        const double pivot =
            pivot_on_line(lower[i], center[i], upper[i], before[j], k == 0, k + 1 == count, grid.periodic[axis]);
        inverse[i] = static_cast<T>(1 / pivot);
        before[j] = upper[i] / pivot;
      }
    }
  });
}
template void pivots(const Grid&, int, const double*, float*);
template void pivots(const Grid&, int, const double*, double*);

}  // namespace diagsparse::multigrid
