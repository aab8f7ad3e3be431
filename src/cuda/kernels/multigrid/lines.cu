// Line smoothing: the equations of all points on a line, along one axis, are solved together. The matrix of a line is
// tridiagonal, and its elimination a recurrence, forwards and backwards:
//
//     y[i] = (r[i] - lower[i] y[i - 1]) / pivot[i],        z[i] = y[i] - upper[i] / pivot[i] z[i + 1]
//
// So the value after some points is an affine function of the one before them. Threads compute the functions of parts
// of a line, these are composed, and then the values follow.
#include "core/grid_lines.hpp"
#include "kernels/multigrid/points.cuh"

namespace diagsparse::cuda::multigrid {

using diagsparse::multigrid::pivot_on_line;

namespace {

constexpr int kWarpsAlong = 32;  // that share lines
constexpr int kEach = 4;         // points of a lane on a line of consecutive values

// f + g v
template <class T>
struct Affine {
  T f = 0, g = 1;
  // After it comes v -> f + g v.
  __device__ void then(T next_f, T next_g) {
    f = next_f + next_g * f;
    g *= next_g;
  }
  __device__ T of(T v) const { return f + g * v; }
};

// The lines of an axis: `count` points, `stride` apart, and the elements of a row before and after the main diagonal.
template <class T>
struct AxisLines {
  int64 count, stride, lines;  // with the consecutive ones
  const T *lower, *upper, *inverse;
  // The steps forwards and backwards at a point.
  __device__ Affine<T> forwards(const T* r, int64 i, bool first) const {
    const T p = load(inverse + i);
    return {load(r + i) * p, first ? T(0) : -load(lower + i) * p};
  }
  __device__ Affine<T> backwards(const T* y, int64 i, bool last) const {
    return {y[i], last ? T(0) : -load(upper + i) * load(inverse + i)};
  }
};

template <class T>
AxisLines<T> lines_of(const Grid& grid, int axis, const T* coefficients, const T* inverse) {
  const int64 n = grid.points(), stride = axis == 0 ? grid.size[1] * grid.size[2] : axis == 1 ? grid.size[2] : 1;
  const int lower = grid.neighbour_position(axis, -1), upper = grid.neighbour_position(axis, 1);
  return {grid.size[axis], stride, n / grid.size[axis], coefficients + lower * n, coefficients + upper * n, inverse};
}

// x += omega T^-1 r along an axis other than the fastest one. A block has 32 neighbouring lines, and each of its warps
// a part of them.
template <class T>
__global__ void __launch_bounds__(32 * kWarpsAlong) across_kernel(AxisLines<T> a, T omega, const T* r, T* y, T* x) {
  __shared__ T fs[kWarpsAlong][32], gs[kWarpsAlong][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64 line = static_cast<int64>(blockIdx.x) * 32 + lane, each = (a.count + kWarpsAlong - 1) / kWarpsAlong;
  const int64 first = warp * each, end = min(first + each, a.count);
  const bool exists = line < a.lines;
  const int64 base = line / a.stride * a.stride * a.count + line % a.stride;
  Affine<T> part;
  if (exists) {
#pragma unroll 4
    for (int64 k = first; k < end; ++k) {
      const Affine<T> step = a.forwards(r, base + k * a.stride, k == 0);
      part.then(step.f, step.g);
    }
  }
  fs[warp][lane] = part.f, gs[warp][lane] = part.g;
  __syncthreads();
  T v = 0;
  for (int w = 0; w < warp; ++w) v = fs[w][lane] + gs[w][lane] * v;
  part = {};
  if (exists) {
#pragma unroll 4
    for (int64 k = first; k < end; ++k) {
      const int64 i = base + k * a.stride;
      v = a.forwards(r, i, k == 0).of(v);
      y[i] = v;
    }
#pragma unroll 4
    for (int64 k = end - 1; k >= first; --k) {
      const Affine<T> step = a.backwards(y, base + k * a.stride, k + 1 == a.count);
      part.then(step.f, step.g);
    }
  }
  __syncthreads();  // all warps have read the functions of the other direction
  fs[warp][lane] = part.f, gs[warp][lane] = part.g;
  __syncthreads();
  if (!exists) return;
  v = 0;
  for (int w = kWarpsAlong - 1; w > warp; --w) v = fs[w][lane] + gs[w][lane] * v;
#pragma unroll 4
  for (int64 k = end - 1; k >= first; --k) {
    const int64 i = base + k * a.stride;
    v = a.backwards(y, i, k + 1 == a.count).of(v);
    x[i] += omega * v;
  }
}

// The values before the points of each lane, of functions that are composed from the first lane to the last one, or
// from the last one to the first; `v` is the value before all of them.
template <bool Backwards, class T>
__device__ T before_lane(Affine<T> part, T v) {
  const int lane = threadIdx.x % 32, order = Backwards ? 31 - lane : lane;
  for (int apart = 1; apart < 32; apart *= 2) {
    const T f = Backwards ? __shfl_down_sync(0xffffffff, part.f, apart) : __shfl_up_sync(0xffffffff, part.f, apart);
    const T g = Backwards ? __shfl_down_sync(0xffffffff, part.g, apart) : __shfl_up_sync(0xffffffff, part.g, apart);
    if (order >= apart) part = {part.f + part.g * f, part.g * g};
  }
  const T all = part.of(v);
  const T before = Backwards ? __shfl_down_sync(0xffffffff, all, 1) : __shfl_up_sync(0xffffffff, all, 1);
  return order == 0 ? v : before;
}

// The same along the fastest axis: a warp for each line, which it processes in pieces.
template <class T>
__global__ void along_kernel(AxisLines<T> a, T omega, const T* r, T* y, T* x) {
  const int lane = threadIdx.x % 32;
  const int64 line = (static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (line >= a.lines) return;
  constexpr int kPiece = 32 * kEach;
  const int64 base = line * a.count;
  T carried = 0;
  for (int64 piece = 0; piece < a.count; piece += kPiece) {
    Affine<T> steps[kEach], part;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64 at = piece + lane * kEach + k;
      if (at < a.count) steps[k] = a.forwards(r, base + at, at == 0);
      part.then(steps[k].f, steps[k].g);
    }
    T v = before_lane<false>(part, carried);
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int64 at = piece + lane * kEach + k;
      v = steps[k].of(v);
      if (at < a.count) y[base + at] = v;
    }
    carried = __shfl_sync(0xffffffff, v, 31);
  }
  carried = 0;
  for (int64 piece = (a.count - 1) / kPiece * kPiece; piece >= 0; piece -= kPiece) {
    Affine<T> steps[kEach], part;
#pragma unroll
    for (int k = kEach - 1; k >= 0; --k) {
      const int64 at = piece + lane * kEach + k;
      if (at < a.count) steps[k] = a.backwards(y, base + at, at + 1 == a.count);
      part.then(steps[k].f, steps[k].g);
    }
    T v = before_lane<true>(part, carried);
#pragma unroll
    for (int k = kEach - 1; k >= 0; --k) {
      const int64 at = piece + lane * kEach + k;
      v = steps[k].of(v);
      if (at < a.count) x[base + at] += omega * v;
    }
    carried = __shfl_sync(0xffffffff, v, 0);
  }
}

// A thread for each line.
template <class T>
__global__ void pivots_kernel(AxisLines<double> a, bool periodic, const double* center, T* inverse) {
  const int64 line = thread_index();
  if (line >= a.lines) return;
  const int64 base = line / a.stride * a.stride * a.count + line % a.stride;
  double before = 0;  // upper / pivot of the point before
  for (int64 k = 0; k < a.count; ++k) {
    const int64 i = base + k * a.stride;
    const double pivot = pivot_on_line(load(a.lower + i), load(center + i), load(a.upper + i), before, k == 0,
                                       k + 1 == a.count, periodic);
    inverse[i] = static_cast<T>(1 / pivot);
    before = load(a.upper + i) / pivot;
  }
}

}  // namespace

template <class T>
void pivots(const Grid& grid, int axis, const double* coefficients, T* inverse) {
  const AxisLines<double> a = lines_of<double>(grid, axis, coefficients, nullptr);
  launch("multigrid_pivots", pivots_kernel<T>, blocks(a.lines), dim3(kBlock), a, grid.periodic[axis],
         coefficients + grid.center() * grid.points(), inverse);
}

template <class T>
void smooth_lines(const Grid& grid, int axis, const T* coefficients, const T* inverse, T omega, const T* r, T* x,
                  T* work) {
  const AxisLines<T> a = lines_of(grid, axis, coefficients, inverse);
  if (a.stride == 1) {
    launch("multigrid_lines", along_kernel<T>, blocks(32 * a.lines), dim3(kBlock), a, omega, r, work, x);
  } else {
    launch("multigrid_lines", across_kernel<T>, dim3(static_cast<unsigned>(ceil_div(a.lines, 32))),
           dim3(32 * kWarpsAlong), a, omega, r, work, x);
  }
}

template void pivots(const Grid&, int, const double*, float*);
template void pivots(const Grid&, int, const double*, double*);
template void smooth_lines(const Grid&, int, const float*, const float*, float, const float*, float*, float*);
template void smooth_lines(const Grid&, int, const double*, const double*, double, const double*, double*, double*);

}  // namespace diagsparse::cuda::multigrid
