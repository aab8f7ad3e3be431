// Line smoothing: the tridiagonal equations of the points on each line along one axis are solved by elimination. Many
// lines are eliminated together, so that neighbouring values of different lines are in vectors.
#include "cpu/multigrid.hpp"
#include "cpu/parallel.hpp"
#include "kernels/simd/grid_slabs.hpp"
#include "kernels/simd/grid_transfer.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

using multigrid::LineSmoother;

constexpr int kTogether = 16;    // lines along the fastest axis
constexpr int64 kColumns = 256;  // lines along another axis

// What the elimination reads: the elements before and after the main diagonal, and the inverse of the pivots.
template <class T>
struct Tridiagonal {
  const T *lower, *upper, *inverse;
};

// Eliminates `width` lines of `count` points, whose points k are at first + k * along + (0, 1, ...) * across.
template <class T, int64 Across>
void eliminate(const Tridiagonal<T>& a, T omega, int64 first, int64 count, int64 along, int64 across, int64 width,
               const T* r, T* x, std::vector<T>& solved) {
  const int64 step = Across > 0 ? Across : across;
  solved.resize(count * width);
  for (int64 k = 0; k < count; ++k) {
    const int64 at = first + k * along;
    T* y = solved.data() + k * width;
    for (int64 j = 0; j < width; ++j) {
      const int64 i = at + j * step;
      y[j] = (k == 0 ? r[i] : r[i] - a.lower[i] * y[j - width]) * a.inverse[i];
    }
  }
  for (int64 k = count - 1; k >= 0; --k) {
    const int64 at = first + k * along;
    T* y = solved.data() + k * width;
    for (int64 j = 0; j < width; ++j) {
      const int64 i = at + j * step;
      if (k + 1 < count) y[j] -= a.upper[i] * a.inverse[i] * y[j + width];
      x[i] += omega * y[j];
    }
  }
}

template <class T>
void smooth(const Grid& grid, int axis, const T* coefficients, const T* inverse, T omega, const T* r, T* x) {
  const int64 n = grid.points(), count = grid.size[axis], nx = grid.size[2];
  const Tridiagonal<T> a{coefficients + grid.neighbour_position(axis, -1) * n,
                         coefficients + grid.neighbour_position(axis, 1) * n, inverse};
  if (axis == 2) {
    const int64 lines = n / nx;
    parallel_for((lines + kTogether - 1) / kTogether, 4 * n, [&](int64 task) {
      std::vector<T> solved;
      const int64 first = task * kTogether, width = std::min<int64>(kTogether, lines - first);
      eliminate<T, 0>(a, omega, first * nx, count, 1, nx, width, r, x, solved);
    });
    return;
  }
  const int64 stride = axis == 0 ? grid.size[1] * nx : nx, pieces = (stride + kColumns - 1) / kColumns;
  parallel_for(n / count / stride * pieces, 4 * n, [&](int64 task) {
    std::vector<T> solved;
    const int64 column = task % pieces * kColumns, width = std::min(kColumns, stride - column);
    eliminate<T, 1>(a, omega, task / pieces * stride * count + column, count, stride, 1, width, r, x, solved);
  });
}

template <class T>
void restricted(const Grid& grid, const T* weights, const T* r, T* coarse) {
  const std::array<int64, 3> size = grid.coarse_size();
  const int64 ny = grid.size[1], nx = grid.size[2], per = grid.coarsened[0] ? 2 : 1;
  parallel_for(size[0], 2 * grid.points(), [&](int64 c) {  // a slab of the coarse grid
    Transfer<T> transfer(grid, weights);
    std::fill_n(coarse + c * size[1] * size[2], size[1] * size[2], T(0));
    for (int tz = 1 - static_cast<int>(per); tz < per; ++tz) {
      const int64 slab = grid.fine(0, c, tz);
      for (int64 y = 0; slab >= 0 && y < ny; ++y) {
        transfer.split(r + (slab * ny + y) * nx);
        transfer.add_restricted(y, c, tz, coarse);
      }
    }
  });
}

template <class T>
void corrected(const Grid& grid, const T* weights, const T* x, const T* e, T* out) {
  const int64 ny = grid.size[1], nx = grid.size[2];
  parallel_for(grid.size[0], 2 * grid.points(), [&](int64 slab) {
    Transfer<T> transfer(grid, weights);
    for (int64 y = 0; y < ny; ++y) {
      T* to = out + (slab * ny + y) * nx;
      std::copy_n(x + (slab * ny + y) * nx, nx, to);
      for (int tz = -1; tz <= 1; ++tz) {
        if (const int64 c = grid.coarse(0, slab, tz); c >= 0) transfer.add_interpolated(to, y, c, tz, e);
      }
    }
  });
}

const ForEachSet<LineSmoother<float>> of_floats(kIsa, {smooth<float>, restricted<float>, corrected<float>});
const ForEachSet<LineSmoother<double>> of_doubles(kIsa, {smooth<double>, restricted<double>, corrected<double>});

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
