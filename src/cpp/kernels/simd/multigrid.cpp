// A multigrid cycle in passes over the slabs of a grid. Each pass has several stages, one or two slabs behind each
// other, which exchange slabs through rings of padded copies: the values of a slab are read while they are in the
// caches.
//
// Tasks process ranges of slabs, and compute the slabs around these again, so the results do not depend on the number
// of tasks.
#include "cpu/multigrid.hpp"

#include "cpu/parallel.hpp"
#include "kernels/simd/grid_slabs.hpp"
#include "kernels/simd/grid_transfer.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

using multigrid::Cycle, multigrid::Smoother;

constexpr int64 kFewestSlabs = 16;  // in a task, so that those that are computed again do not matter

// Calls f(first, last) for ranges of `count` slabs.
template <class F>
void for_slabs(const Grid& grid, int64 count, int64 per_slab, const F& f) {
  const int64 tasks = std::max<int64>(1, std::min<int64>(count * per_slab / kFewestSlabs, 64));
  parallel_for(tasks, 4 * grid.points() * grid.steps.size(),
               [&](int64 task) { f(count * task / tasks, count * (task + 1) / tasks); });
}

// The slab of the grid that a slab of a range is, or -1 if it lies outside.
int64 slab_of(const Grid& grid, int64 t) {
  const int64 n = grid.size[0];
  if (t >= 0 && t < n) return t;
  return grid.periodic[0] ? (t % n + n) % n : -1;
}

template <class T>
void descend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, T* x,
             T* coarse) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx, per = grid.coarsened[0] ? 2 : 1;
  const std::array<int64, 3> size = grid.coarse_size();
  const T* diagonal = coefficients + grid.center() * grid.points();
  for_slabs(grid, size[0], per, [&](int64 begin, int64 end) {
    Ring<T> scaled(grid), smoothed(grid);
    Rows<T> rows(grid, coefficients);
    Transfer<T> transfer(grid, weights);
    std::vector<T> r(nx);
    const int64 first = per * begin, last = std::min(per * end, grid.size[0]), halo = per - 1;
    std::fill(coarse + begin * size[1] * size[2], coarse + end * size[1] * size[2], T(0));
    for (int64 t = first - halo - 2; t < last + halo + 2; ++t) {
      // D^-1 b of slab t
      const int64 slab = slab_of(grid, t);
      if (slab < 0) scaled.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) {
          const T *from = b + slab * plane + y * nx, *d = diagonal + slab * plane + y * nx;
          T* to = scaled.line(t, y);
          for (int64 i = 0; i < nx; ++i) to[i] = divided<T>(from[i], d[i]);
        }
        scaled.close(t);
      }
      // x of the slab before
      const int64 t1 = t - 1, slab1 = slab_of(grid, t1);
      if (t1 < first - halo - 1) continue;
      if (slab1 < 0) smoothed.clear(t1);
      else {
        for (int64 y = 0; y < ny; ++y) {
          rows.at(scaled, t1, slab1, y);
          const T* s = scaled.line(t1, y);
          T* to = smoothed.line(t1, y);
          rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
            put_at<V, T>(to + i, smoother.a1 * same_from<V>(s + i) + smoother.a2 * divided<T>(sum, d));
          });
          if (t1 >= first && t1 < last) std::copy_n(to, nx, x + slab1 * plane + y * nx);
        }
        smoothed.close(t1);
      }
      // the residual of the slab before that, and its restriction
      const int64 t2 = t - 2, slab2 = slab_of(grid, t2);
      if (t2 < first - halo || t2 >= last + halo || slab2 < 0) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(smoothed, t2, slab2, y);
        const T* from = b + slab2 * plane + y * nx;
        rows.for_sums([&]<class V>(int64 i, const V& sum, const V&) {
          put_at<V, T>(r.data() + i, same_from<V>(from + i) - sum);
        });
        transfer.split(r.data());
        for (int tz = -1; tz <= 1; ++tz) {
          if ((t2 - tz) % per != 0 || (per == 1 && tz != 0)) continue;
          const int64 c = (t2 - tz) / per;  // not around the end of the axis: slabs there have two numbers
          if (c >= begin && c < end) transfer.add_restricted(y, c, tz, coarse);
        }
      }
    }
  });
}

template <class T>
void ascend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, const T* x,
            const T* e, T* out) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx;
  for_slabs(grid, grid.size[0], 1, [&](int64 first, int64 last) {
    Ring<T> corrected(grid), scaled(grid);
    Rows<T> rows(grid, coefficients);
    Transfer<T> transfer(grid, weights);
    for (int64 t = first - 2; t < last + 2; ++t) {
      // x + P e of slab t
      const int64 slab = slab_of(grid, t);
      if (slab < 0) corrected.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) {
          T* to = corrected.line(t, y);
          std::copy_n(x + slab * plane + y * nx, nx, to);
          for (int tz = -1; tz <= 1; ++tz) {
            const int64 c = grid.coarse(0, slab, tz);
            if (c >= 0) transfer.add_interpolated(to, y, c, tz, e);
          }
        }
        corrected.close(t);
      }
      // the scaled residual of the slab before
      const int64 t1 = t - 1, slab1 = slab_of(grid, t1);
      if (t1 < first - 1) continue;
      if (slab1 < 0) scaled.clear(t1);
      else {
        for (int64 y = 0; y < ny; ++y) {
          rows.at(corrected, t1, slab1, y);
          const T* from = b + slab1 * plane + y * nx;
          T* to = scaled.line(t1, y);
          rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
            put_at<V, T>(to + i, divided<T>(V(same_from<V>(from + i) - sum), d));
          });
        }
        scaled.close(t1);
      }
      // the result of the slab before that
      const int64 t2 = t - 2;
      if (t2 < first || t2 >= last) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(scaled, t2, t2, y);
        const T *u = corrected.line(t2, y), *s = scaled.line(t2, y);
        T* to = out + t2 * plane + y * nx;
        rows.for_sums([&]<class V>(int64 i, const V& sum, const V& d) {
          put_at<V, T>(to + i,
                       same_from<V>(u + i) + smoother.a1 * same_from<V>(s + i) + smoother.a2 * divided<T>(sum, d));
        });
      }
    }
  });
}

template <class T>
void residual(const Grid& grid, const T* coefficients, const T* b, const T* x, T* r) {
  const int64 ny = grid.size[1], nx = grid.size[2], plane = ny * nx;
  for_slabs(grid, grid.size[0], 1, [&](int64 first, int64 last) {
    Ring<T> ring(grid);
    Rows<T> rows(grid, coefficients);
    for (int64 t = first - 1; t < last + 1; ++t) {
      const int64 slab = slab_of(grid, t), t1 = t - 1;
      if (slab < 0) ring.clear(t);
      else {
        for (int64 y = 0; y < ny; ++y) std::copy_n(x + slab * plane + y * nx, nx, ring.line(t, y));
        ring.close(t);
      }
      if (t1 < first || t1 >= last) continue;
      for (int64 y = 0; y < ny; ++y) {
        rows.at(ring, t1, t1, y);
        const T* from = b + t1 * plane + y * nx;
        T* to = r + t1 * plane + y * nx;
        rows.for_sums(
            [&]<class V>(int64 i, const V& sum, const V&) { put_at<V, T>(to + i, same_from<V>(from + i) - sum); });
      }
    }
  });
}

const ForEachSet<Cycle<float>> of_floats(kIsa, {descend<float>, ascend<float>, residual<float>});
const ForEachSet<Cycle<double>> of_doubles(kIsa, {descend<double>, ascend<double>, residual<double>});

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
