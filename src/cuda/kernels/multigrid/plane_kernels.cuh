// The halves of a cycle on a grid of two axes. A warp marches through a strip of columns, line by line, and has the
// last lines of all stages in registers: the scaled right-hand side, the smoothed solution, its residual, and so on,
// each one line behind the one before. So each value is read once, but for the columns that strips have in common.
#pragma once

#include "kernels/multigrid/lanes.cuh"
#include "kernels/multigrid/plane.hpp"
#include "kernels/multigrid/points.cuh"
#include "kernels/multigrid/reduction.cuh"

namespace diagsparse::cuda::multigrid {

constexpr int kMargin = 4;  // columns and lines around a grid, and those that strips have in common
constexpr int kBelow = 12;  // lines after the last one: those of a chunk that is not full, and those read ahead
constexpr int kWarps = 4;   // of a block
constexpr int kFewest = 4, kMost = 96;  // lines of a chunk
constexpr int kWeights = 8;
// Columns of a lane: four of float32 with 5 points, else two, because registers are few.
template <class T, bool Nine>
constexpr int kLane = sizeof(T) == 4 && !Nine ? 4 : 2;

template <class T>
struct View {
  int64 nx, ny, pitch, coarse_pitch, coarse_nx, coarse_ny;
  const T *center, *east, *north, *north_east, *north_west;
  const T* weights;
  int64 weights_size;  // values of each weight
};

// The main diagonal and the other coefficients of a line, of which those to the lines after it are stored.
template <class T, int N, bool Nine>
struct Line {
  Columns<T, N> inverse, center, east, north;
  Columns<T, Nine ? N : 1> north_east, north_west;
  __device__ void read(const View<T>& level, int64 at) {
    center = columns_at<N>(level.center + at);
    east = columns_at<N>(level.east + at);
    north = columns_at<N>(level.north + at);
    if constexpr (Nine) {
      north_east = columns_at<N>(level.north_east + at);
      north_west = columns_at<N>(level.north_west + at);
    }
  }
};

// A x without its diagonal, for a line whose neighbours are the lines before (south) and after it (north).
template <class T, int N, bool Nine>
__device__ Columns<T, N> off_diagonal(const Line<T, N, Nine>& line, const Line<T, N, Nine>& south,
                                      const Columns<T, N>& x, const Columns<T, N>& x_north,
                                      const Columns<T, N>& x_south) {
  Columns<T, N> sum = line.east * after(x) + before(line.east * x) + line.north * x_north + south.north * x_south;
  if constexpr (Nine) {
    sum = sum + line.north_east * after(x_north) + line.north_west * before(x_north) +
          before(south.north_east * x_south) + after(south.north_west * x_south);
  }
  return sum;
}

template <class T, int N>
struct Weights {
  Columns<T, N> w[kWeights];
  __device__ void read(const View<T>& level, int64 at) {
#pragma unroll
    for (int k = 0; k < kWeights; ++k) w[k] = columns_at<N>(level.weights + k * level.weights_size + at);
  }
};

template <class T, bool Nine>
__global__ void __launch_bounds__(32 * kWarps, sizeof(T) == 4 ? 4 : 3)
    plane_descend_kernel(View<T> level, T a1, T a2, const T* b, T* coarse, Lines to, int lines, int strips) {
  constexpr int N = kLane<T, Nine>, kStrip = 32 * N - 2 * kMargin;
  using Values = Columns<T, N>;
  const int strip = blockIdx.x * kWarps + threadIdx.x / 32;
  if (strip >= strips) return;
  const int64 first = static_cast<int64>(blockIdx.y) * lines, end = min(first + lines, 2 * level.coarse_ny);
  const bool surrounded = to.origin > 0;  // by zeros, else no value may be written outside of the grid
  int64 at = first * level.pitch + static_cast<int64>(strip) * kStrip;  // of the line that is read
  int64 coarse_line = first / 2 - 3, coarse_first = static_cast<int64>(strip) * (kStrip / 2) - kMargin / 2;
  int64 weights_at = (coarse_line + kMargin) * level.coarse_pitch + coarse_first + kMargin;
  // Of the lines t, t - 1, ...: coefficients, right-hand side, s = D^-1 b, the smoothed x.
  Line<T, N, Nine> next, c0, c1{}, c2{}, c3{};
  Values b_next = columns_at<N>(b + at), b1{}, b2{}, s1{}, s2{}, x2{}, x3{};
  Columns<T, N / 2> sum{};
  Weights<T, N / 2> weights;
  next.read(level, at);
  for (int64 t = first - kMargin; t < end + 2; t += 2) {
    const bool live = t >= first;
    if (live) weights.read(level, weights_at);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Values b0 = b_next;
      c0 = next;
      at += level.pitch;
      b_next = columns_at<N>(b + at);
      next.read(level, at);
      c0.inverse = inverse(c0.center);
      const Values s0 = b0 * c0.inverse;
      const Values x1 = a1 * s1 + a2 * (c1.inverse * (b1 + off_diagonal(c1, c2, s1, s0, s2)));
      const Values r = b2 - c2.center * x2 - off_diagonal(c2, c3, x2, x1, x3);
      if (live) {  // r is that of line t - 2 + half
        const auto r_even = even(r), r_odd = odd(r);
        const auto& w = weights.w;
        if (half == 0) {
          sum = sum + r_even + w[0] * r_odd + before(w[1] * r_odd);
        } else {
          sum = sum + w[2] * r_even + w[4] * r_odd + before(w[5] * r_odd);
          if (t - 2 >= first) {
            T* line = coarse + to.origin + coarse_line * to.pitch + coarse_first;
            if (surrounded) put_columns<kMargin / 2>(line, sum);
            else if (coarse_line < level.coarse_ny)
              put_some_columns<kMargin / 2>(line, sum, coarse_first, level.coarse_nx);
          }
          sum = w[3] * r_even + w[6] * r_odd + before(w[7] * r_odd);
        }
      }
      x3 = x2, x2 = x1, s2 = s1, s1 = s0, b2 = b1, b1 = b0;
      c3 = c2, c2 = c1, c1 = c0;
    }
    ++coarse_line;
    weights_at += level.coarse_pitch;
  }
}

template <class T, bool Nine>
__global__ void __launch_bounds__(32 * kWarps, sizeof(T) == 8        ? 2
                                               : kLane<T, Nine> == 4 ? 3
                                                                     : 4)
    plane_ascend_kernel(View<T> level, T a1, T a2, const T* b, const T* coarse, T* e, int lines, int strips,
                        double* products) {
  constexpr int N = kLane<T, Nine>, kStrip = 32 * N - 2 * kMargin;
  using Values = Columns<T, N>;
  using Coarse = Columns<T, N / 2>;
  const int strip = blockIdx.x * kWarps + threadIdx.x / 32;
  if (strip >= strips) return;
  const int64 first = static_cast<int64>(blockIdx.y) * lines, end = min(first + lines, level.ny);
  int64 at = first * level.pitch + static_cast<int64>(strip) * kStrip;
  // Of the coarse lines before and after line t - 1.
  int64 coarse_at =
      (first / 2 - 2 + kMargin) * level.coarse_pitch + static_cast<int64>(strip) * (kStrip / 2) + kMargin / 2;
  Weights<T, N / 2> weights;
  weights.read(level, coarse_at - level.coarse_pitch);
  Coarse e_south = columns_at<N / 2>(coarse + coarse_at - level.coarse_pitch),
         e_north = columns_at<N / 2>(coarse + coarse_at);
  // Of the lines t, t - 1, ...: the right-hand side, s = D^-1 b, the corrected u, and the scaled residual q.
  Line<T, N, Nine> next, c0, c1{}, c2{}, c3{}, c4{};
  Values b_next = columns_at<N>(b + at), b1{}, b2{}, b3{}, s1{}, s2{}, u2{}, u3{}, q3{}, q4{};
  double product = 0;
  next.read(level, at);
  for (int64 t = first - kMargin; t < end + 3; t += 2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Values b0 = b_next;
      c0 = next;
      at += level.pitch;
      b_next = columns_at<N>(b + at);
      next.read(level, at);
      c0.inverse = inverse(c0.center);
      const Values s0 = b0 * c0.inverse;
      Values u1 = a1 * s1 + a2 * (c1.inverse * (b1 + off_diagonal(c1, c2, s1, s0, s2)));
      const auto& w = weights.w;
      if (half == 0) {  // line t - 1 is between two coarse ones
        u1 = u1 + interleaved(w[2] * e_south + w[3] * e_north,
                              w[4] * e_south + w[5] * after(e_south) + w[6] * e_north + w[7] * after(e_north));
        weights.read(level, coarse_at);
        e_south = e_north;
        e_north = columns_at<N / 2>(coarse + coarse_at + level.coarse_pitch);
      } else {  // line t is a coarse one
        u1 = u1 + interleaved(e_south, w[0] * e_south + w[1] * after(e_south));
      }
      const Values q2 = c2.inverse * (b2 - off_diagonal(c2, c3, u2, u1, u3)) - u2;
      const Values x3 = u3 + a1 * q3 + a2 * (q3 + c3.inverse * off_diagonal(c3, c4, q3, q2, q4));
      const int64 line = t + half - 3;
      if (line >= first && line < end) {
        put_columns<kMargin>(e + at - kMargin * level.pitch, x3);
        if (products != nullptr) product += inner<kMargin>(b3, x3);
      }
      q4 = q3, q3 = q2, u3 = u2, u2 = u1, s2 = s1, s1 = s0, b3 = b2, b2 = b1, b1 = b0;
      c4 = c3, c3 = c2, c2 = c1, c1 = c0;
    }
    coarse_at += level.coarse_pitch;
  }
  if (products == nullptr) return;
  for (int apart = 16; apart > 0; apart /= 2) product += __shfl_down_sync(kWarp, product, apart);
  if (threadIdx.x % 32 == 0) products[static_cast<int64>(blockIdx.y) * strips + strip] = product;
}

// b - A e, in place.
template <class T, bool Nine>
__global__ void plane_residual_kernel(View<T> level, const T* e, T* b) {
  const int64 x = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x, p = level.pitch;
  if (x >= level.nx) return;
  for (int64 y = blockIdx.y; y < level.ny; y += gridDim.y) {
    const int64 i = (y + kMargin) * p + x + kMargin;
    const T *d = level.center, *east = level.east, *north = level.north;
    T sum = d[i] * e[i] + east[i] * e[i + 1] + east[i - 1] * e[i - 1] + north[i] * e[i + p] + north[i - p] * e[i - p];
    if constexpr (Nine) {
      const T *ne = level.north_east, *nw = level.north_west;
      sum += ne[i] * e[i + p + 1] + ne[i - p - 1] * e[i - p - 1] + nw[i] * e[i + p - 1] + nw[i - p + 1] * e[i - p + 1];
    }
    b[i] -= sum;
  }
}

// Copies values between two arrays, element i of one to element i of the other.
template <class From, class To>
__global__ void plane_copy_kernel(int64 n, const From* from, Lines source, To* to, Lines target) {
  for_elements(n, [&](int64 i) { to[target.at(i)] = static_cast<To>(from[source.at(i)]); });
}

// Weight k at coarse point (y, x) is that of this point or of one after it, for a fine point after (2 y, 2 x).
template <class T>
__global__ void plane_weights_kernel(int64 nx, int64 ny, const double* weights, int64 pitch, int64 size, T* packed) {
  // The target of each weight, and how far its coarse point is from (y, x).
  constexpr int target[] = {4, 3, 6, 1, 7, 5, 2, 0}, up[] = {0, 0, 0, 1, 0, 0, 1, 1},
                right[] = {0, 1, 0, 0, 0, 1, 0, 1};
  for_elements(nx * ny, [&](int64 i) {
    const int64 y = i / nx, x = i - y * nx;
#pragma unroll
    for (int k = 0; k < kWeights; ++k) {
      const int64 cy = y + up[k], cx = x + right[k];
      const double w = cy < ny && cx < nx ? weights[target[k] * nx * ny + cy * nx + cx] : 0;
      packed[k * size + (y + kMargin) * pitch + x + kMargin] = static_cast<T>(w);
    }
  });
}

// The coefficients that are stored, in another type, `size` apart: those of the main diagonal such that the sums of
// rows stay what they are.
template <class T, bool Nine>
__global__ void plane_coefficients_kernel(Grid grid, const double* coefficients, T* packed, Lines lines, int64 size) {
  constexpr int kCount = Nine ? 9 : 5, kCenter = kCount / 2;
  constexpr int kNorth = Nine ? 7 : 4;  // the steps after the center: east, (north-west,) north, (north-east)
  const int64 n = grid.points();
  for_points(grid.size, [&](int y, int, int x) {
    const double* a = coefficients + static_cast<int64>(y) * grid.size[2] + x;
    double center = 0;
    T rounded[kCount];
#pragma unroll
    for (int s = 0; s < kCount; ++s) {
      const double v = load_once(a + s * n);
      rounded[s] = static_cast<T>(v);
      center += s == kCenter ? v : v - static_cast<double>(rounded[s]);
    }
    T* to = packed + lines.origin + y * lines.pitch + x;
    to[0] = static_cast<T>(center);
    to[size] = rounded[kCenter + 1];
    to[2 * size] = rounded[kNorth];
    if constexpr (Nine) {
      to[3 * size] = rounded[8];
      to[4 * size] = rounded[6];
    }
  });
}

}  // namespace diagsparse::cuda::multigrid
