// The parts of a multigrid cycle, with a thread for each point.
#include "kernels/multigrid/points.cuh"

namespace diagsparse::cuda::multigrid {

namespace {

// x = a1 s + a2 D^-1 A s, where s = D^-1 b
template <class T, unsigned Set>
__global__ void smooth_kernel(Grid grid, const T* a, Smoother<T> smoother, const T* b, T* x) {
  const T* d = a + grid.center() * grid.points();
  for_points(grid.size, [&](int iz, int iy, int ix) {
    const Neighbours at(grid, iz, iy, ix);
    const auto scaled = [&](int64 row) { return divided(load(b + row), load(d + row)); };
    const T sum = sum_over<Set>(grid, a, at, scaled);
    x[at.row] = smoother.a1 * scaled(at.row) + smoother.a2 * divided(sum, load(d + at.row));
  });
}

// r = b - A x, or D^-1 (b - A x)
template <class T, unsigned Set, bool Scaled>
__global__ void residual_kernel(Grid grid, const T* a, const T* b, const T* x, T* r) {
  const T* d = a + grid.center() * grid.points();
  for_points(grid.size, [&](int iz, int iy, int ix) {
    const Neighbours at(grid, iz, iy, ix);
    const T v = b[at.row] - sum_over<Set>(grid, a, at, [&](int64 row) { return load(x + row); });
    r[at.row] = Scaled ? divided(v, load(d + at.row)) : v;
  });
}

// out = u + a1 s + a2 D^-1 A s
template <class T, unsigned Set>
__global__ void smoothed_kernel(Grid grid, const T* a, Smoother<T> smoother, const T* u, const T* s, T* out) {
  const T* d = a + grid.center() * grid.points();
  for_points(grid.size, [&](int iz, int iy, int ix) {
    const Neighbours at(grid, iz, iy, ix);
    const T sum = sum_over<Set>(grid, a, at, [&](int64 row) { return load(s + row); });
    out[at.row] = u[at.row] + smoother.a1 * load(s + at.row) + smoother.a2 * divided(sum, load(d + at.row));
  });
}

// coarse = P^T r. The weights of the targets are read one after the other, in their order.
template <class T>
__global__ void restrict_kernel(Grid grid, std::array<int64, 3> size, const T* __restrict__ weights,
                                const T* __restrict__ r, T* __restrict__ coarse) {
  const int64 count = size[0] * size[1] * size[2];
  for_points(size, [&](int iz, int iy, int ix) {
    const int64 c = row_of(size, iz, iy, ix);
    const T* w = weights + c;
    T sum = 0;
#pragma unroll
    for (int tz = -1; tz <= 1; ++tz) {
      if (tz != 0 && !grid.coarsened[0]) continue;
      const int fz = grid.fine(0, iz, tz);
#pragma unroll
      for (int ty = -1; ty <= 1; ++ty) {
        if (ty != 0 && !grid.coarsened[1]) continue;
        const int fy = grid.fine(1, iy, ty);
        const T* line = r + row_of(grid.size, max(fz, 0), max(fy, 0), 0);
#pragma unroll
        for (int tx = -1; tx <= 1; ++tx) {
          if (tx != 0 && !grid.coarsened[2]) continue;
          const int fx = grid.fine(2, ix, tx);
          const T v = fz >= 0 && fy >= 0 && fx >= 0 ? load(line + fx) : T(0);
          if (tz == 0 && ty == 0 && tx == 0) {
            sum += v;
          } else {
            sum += v * load_once(w);
            w += count;
          }
        }
      }
    }
    coarse[c] = sum;
  });
}

// u = x + P e: a thread for each coarse point computes the fine points at it and after it, on the axes that are
// coarsened, from the coarse points there. Bit d of a number says that a point is after the first one on axis 2 - d.
template <class T>
__global__ void __launch_bounds__(kBlock, 4)
    interpolate_kernel(Grid grid, std::array<int64, 3> size, Steps targets, const T* __restrict__ weights,
                       const T* __restrict__ x, const T* __restrict__ e, T* __restrict__ u) {
  const int64 count = size[0] * size[1] * size[2];
  for_points(size, [&](int iz, int iy, int ix) {
    const int at[3] = {iz, iy, ix};
    int fine[3];
    int64 apart[3];                   // of the two coarse points, in memory
    unsigned finer = 0, coarser = 0;  // the axes that have a second fine, or coarse, point
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      fine[d] = grid.coarsened[d] ? 2 * at[d] : at[d];
      const bool second = grid.coarsened[d] && fine[d] + 1 < grid.size[d];
      const int next = second ? grid.coarse(d, fine[d] + 1, -1) : -1;
      const int64 stride = d == 0 ? size[1] * size[2] : d == 1 ? size[2] : 1;
      apart[d] = (next - at[d]) * stride;
      if (second) finer |= 4u >> d;
      if (next >= 0) coarser |= 4u >> d;
    }
    const int64 row = row_of(grid.size, fine[0], fine[1], fine[2]), c = row_of(size, iz, iy, ix);
    const int64 slab = grid.size[1] * grid.size[2], line = grid.size[2];
    const auto row_at = [&](int f) { return row + (f & 4 ? slab : 0) + (f & 2 ? line : 0) + (f & 1); };
    T sum[8];
#pragma unroll
    for (int f = 0; f < 8; ++f) sum[f] = (f & finer) == f ? load(x + row_at(f)) : T(0);
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      if ((k & coarser) != k) continue;
      const int64 from = c + (k & 4 ? apart[0] : 0) + (k & 2 ? apart[1] : 0) + (k & 1 ? apart[2] : 0);
      const T v = load(e + from);
#pragma unroll
      for (int f = 0; f < 8; ++f) {
        if ((k & f) != k || (f & finer) != f) continue;  // a fine point at a coarse one, on an axis, is not between two
        const auto step = [&](int bit) { return f & bit ? (k & bit ? -1 : 1) : 0; };
        if (f == 0) sum[0] += v;
        else sum[f] += v * load(weights + targets.position({step(4), step(2), step(1)}) * count + from);
      }
    }
#pragma unroll
    for (int f = 0; f < 8; f += 2) {
      if ((f & finer) != f) continue;
      T* to = u + row_at(f);
      if (grid.size[2] % 2 == 0 && finer & 1) {  // an aligned pair
        struct alignas(2 * sizeof(T)) {
          T v[2];
        } pair{{sum[f], sum[f + 1]}};
        *reinterpret_cast<decltype(pair)*>(to) = pair;
      } else {
        to[0] = sum[f];
        if (finer & 1) to[1] = sum[f + 1];
      }
    }
  });
}

// A block for each row.
template <class T>
__global__ void multiply_dense_kernel(int64 n, const T* matrix, const T* x, T* out) {
  const int64 row = blockIdx.x;
  T sum = 0;
  for (int64 i = threadIdx.x; i < n; i += 32) sum += matrix[row * n + i] * x[i];
  for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_down_sync(0xffffffff, sum, apart);
  if (threadIdx.x == 0) out[row] = sum;
}

}  // namespace

template <class T>
void restricted(const Grid& grid, const T* weights, const T* r, T* coarse) {
  const PointBlocks next(grid.coarse_size());
  launch("multigrid_restrict", restrict_kernel<T>, next.grid, next.block, grid, grid.coarse_size(), weights, r, coarse);
}

template <class T>
void corrected(const Grid& grid, const T* weights, const T* x, const T* e, T* out) {
  const PointBlocks next(grid.coarse_size());
  launch("multigrid_interpolate", interpolate_kernel<T>, next.grid, next.block, grid, grid.coarse_size(),
         grid.targets(), weights, x, e, out);
}

template <class T>
void descend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, T* x,
             T* coarse, T* work) {
  const PointBlocks shape(grid.size);
  with_steps(grid, [&](auto set) {
    launch("multigrid_smooth", smooth_kernel<T, set()>, shape.grid, shape.block, grid, coefficients, smoother, b, x);
  });
  residual(grid, coefficients, b, static_cast<const T*>(x), work);
  restricted(grid, weights, static_cast<const T*>(work), coarse);
}

template <class T>
void ascend(const Grid& grid, const T* coefficients, const T* weights, Smoother<T> smoother, const T* b, const T* x,
            const T* e, T* out, T* work) {
  // `out` has the corrected x until the last kernel, in which a point reads and writes its own element of it alone.
  const PointBlocks shape(grid.size);
  corrected(grid, weights, x, e, out);
  with_steps(grid, [&](auto set) {
    launch("multigrid_residual", residual_kernel<T, set(), true>, shape.grid, shape.block, grid, coefficients, b,
           static_cast<const T*>(out), work);
    launch("multigrid_smoothed", smoothed_kernel<T, set()>, shape.grid, shape.block, grid, coefficients, smoother,
           static_cast<const T*>(out), static_cast<const T*>(work), out);
  });
}

template <class T>
void residual(const Grid& grid, const T* coefficients, const T* b, const T* x, T* r) {
  const PointBlocks shape(grid.size);
  with_steps(grid, [&](auto set) {
    launch("multigrid_residual", residual_kernel<T, set(), false>, shape.grid, shape.block, grid, coefficients, b, x,
           r);
  });
}

template <class T>
void multiply_dense(int64 n, const T* matrix, const T* x, T* out) {
  launch("multigrid_dense", multiply_dense_kernel<T>, dim3(static_cast<unsigned>(n)), dim3(32), n, matrix, x, out);
}

template void restricted(const Grid&, const float*, const float*, float*);
template void restricted(const Grid&, const double*, const double*, double*);
template void corrected(const Grid&, const float*, const float*, const float*, float*);
template void corrected(const Grid&, const double*, const double*, const double*, double*);
template void descend(const Grid&, const float*, const float*, Smoother<float>, const float*, float*, float*, float*);
template void ascend(const Grid&, const float*, const float*, Smoother<float>, const float*, const float*, const float*,
                     float*, float*);
template void residual(const Grid&, const float*, const float*, const float*, float*);
template void multiply_dense(int64, const float*, const float*, float*);
template void descend(const Grid&, const double*, const double*, Smoother<double>, const double*, double*, double*,
                      double*);
template void ascend(const Grid&, const double*, const double*, Smoother<double>, const double*, const double*,
                     const double*, double*, double*);
template void residual(const Grid&, const double*, const double*, const double*, double*);
template void multiply_dense(int64, const double*, const double*, double*);

}  // namespace diagsparse::cuda::multigrid
