// Residuals of tridiagonal solutions: for verification, and for a step of iterative refinement.
//
// A thread processes a row; all arrays are read in order. Maxima are exact, so every run gives the same bits.
#pragma once

#include <limits>

#include "kernels/tridiagonal/parts.cuh"

namespace diagsparse::cuda::tridiagonal {

// Of a solution that is accepted, where solutions have to be verified: about that of elimination with pivoting.
template <class T>
constexpr double kMostError = 32 * std::numeric_limits<Real<T>>::epsilon();

// Row `row` of the matrix; elements outside of it are zero.
template <class T>
__device__ Row<T> row_of(const Diagonals<T>& a, int64 row) {
  const int64 block = a.stride > 0 ? a.block : a.n, member = row / block, i = row - member * block;
  const int64 at = member * a.stride + i;
  Row<T> result{};
  result.main = load(a.main + at);
  if (a.lower && i >= a.step) result.below = load(a.lower + at - a.step);
  if (a.upper && i + a.step < block) result.above = load(a.upper + at);
  return result;
}

// The element of b - A x.
template <class T>
__device__ T residual_of(const Diagonals<T>& a, const Row<T>& own, const T* b, const T* x, int64 row) {
  T r = less_product(load(b + row), own.main, load(x + row));
  if (row >= a.step) r = less_product(r, own.below, load(x + row - a.step));
  if (row + a.step < a.n) r = less_product(r, own.above, load(x + row + a.step));
  return r;
}

// r = b - A x for each column.
template <class T>
__global__ void __launch_bounds__(kBlock) subtract_product(const Diagonals<T> a, const T* b, int64 b_stride, const T* x,
                                                           int64 x_stride, int64 columns, T* r) {
  const int64 row = thread_index();
  if (row >= a.n) return;
  const Row<T> own = row_of(a, row);
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    r[column * a.n + row] = residual_of(a, own, b + column * b_stride, x + column * x_stride, row);
  }
}

// x += r for each column.
template <class T>
__global__ void __launch_bounds__(kBlock) add_columns(const T* r, int64 rows, int64 columns, T* x, int64 x_stride) {
  const int64 row = thread_index();
  if (row >= rows) return;
  for (int64 column = blockIdx.y; column < columns; column += gridDim.y) {
    x[column * x_stride + row] = x[column * x_stride + row] + load(r + column * rows + row);
  }
}

// b: numbers between -1 and 1 that depend on the row alone.
template <class T>
__global__ void __launch_bounds__(kBlock) write_random(T* b, int64 rows) {
  const int64 row = thread_index();
  if (row >= rows) return;
  auto bits = static_cast<std::uint64_t>(row) + 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
  b[row] = convert<T>(static_cast<Real<T>>(static_cast<std::int32_t>(bits >> 32)) * static_cast<Real<T>>(0x1p-31));
}

// The larger one of two numbers that are not negative; NaN is larger than all of them, as are its bits.
inline __device__ double larger(double u, double v) {
  return __longlong_as_double(max(__double_as_longlong(fabs(u)), __double_as_longlong(fabs(v))));
}

// The upper 32 bits of a number that is not negative, and the smallest number with these bits.
inline __device__ int upper_half(double v) { return __double2hiint(v); }
inline __device__ int upper_half(float v) { return __float_as_int(v); }
inline __device__ double from_upper_half(int bits, double) { return __hiloint2double(bits, 0); }
inline __device__ double from_upper_half(int bits, float) { return __int_as_float(bits); }

// The largest residual, element of x, element of b, and row sum of some rows.
struct Largest {
  double residual, x, b, row;

  template <class T>
  __device__ void add(const Diagonals<T>& a, const T* rhs, const T* solution, int64 i) {
    const Row<T> own = row_of(a, i);
    join({magnitude(residual_of(a, own, rhs, solution, i)), magnitude(load(solution + i)), magnitude(load(rhs + i)),
          magnitude(own.below) + magnitude(own.main) + magnitude(own.above)});
  }
  __device__ void join(const Largest& other) {
    residual = larger(residual, other.residual);
    x = larger(x, other.x);
    b = larger(b, other.b);
    row = larger(row, other.row);
  }
  __device__ void join_lanes() {
    for (int step = 16; step > 0; step /= 2) {
      join({__shfl_xor_sync(~0u, residual, step), __shfl_xor_sync(~0u, x, step), __shfl_xor_sync(~0u, b, step),
            __shfl_xor_sync(~0u, row, step)});
    }
  }
  __device__ void join_atomically(Largest* most) const {  // the bits have the order of the numbers
    const auto keep = [](double* to, double value) {
      atomicMax(reinterpret_cast<unsigned long long*>(to),
                static_cast<unsigned long long>(__double_as_longlong(value)));
    };
    keep(&most->residual, residual);
    keep(&most->x, x);
    keep(&most->b, b);
    keep(&most->row, row);
  }
  // |b - A x| / (|A| |x| + |b|)
  __host__ __device__ double backward_error() const {
    const double size = row * x + b;
    return size > 0 ? residual / size : residual;
  }
};

template <class T>
__global__ void __launch_bounds__(kBlock) find_largest(const Diagonals<T> a, const T* b, const T* x, Largest* most) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  Largest own{};
  for (int64 row = thread_index(); row < a.n; row += width) own.add(a, b, x, row);
  own.join_lanes();
  if (threadIdx.x % 32 == 0) own.join_atomically(most);
}

// The normwise backward error of x, |b - A x| / (|A| |x| + |b|). Waits for the device.
template <class T>
double backward_error(const Diagonals<T>& a, const T* b, const T* x) {
  const Scratch<Largest> most(1);
  CUDA_CALL(cudaMemsetAsync(most.get(), 0, sizeof(Largest), stream()));
  constexpr int64 kEnough = 4096;  // blocks, of which each processes many rows
  const dim3 grid(static_cast<unsigned>(std::min(kEnough, ceil_div(a.n, kBlock))));
  launch("tridiagonal_find_largest", find_largest<T>, grid, dim3(kBlock), a, b, x, most.get());
  return download(static_cast<const Largest*>(most.get()), 1).front().backward_error();
}

// *inaccurate becomes the smallest member whose backward error is not below `most`. `a` consists of diagonal blocks,
// each of which a warp processes, or of interleaved members, which a thread processes.
template <class T>
__global__ void __launch_bounds__(kBlock) check_members(const Diagonals<T> a, int64 count, const T* b, const T* x,
                                                        double most, unsigned long long* inaccurate) {
  const bool interleaved = a.step > 1;
  const int width = interleaved ? 1 : 32, lane = static_cast<int>(threadIdx.x) % width;
  const int64 member = thread_index() / width, rows = a.n / count;
  if (member >= count) return;
  const int64 start = interleaved ? member : member * rows;
  Largest own{};
  for (int64 i = lane; i < rows; i += width) own.add(a, b, x, start + i * a.step);
  if (!interleaved) own.join_lanes();
  if (lane == 0 && !(own.backward_error() <= most)) atomicMin(inaccurate, static_cast<unsigned long long>(member));
}

// The first of `count` members whose solution is not as accurate as that of elimination with pivoting, or -1. Waits for
// the device.
template <class T>
int64 first_inaccurate(const Diagonals<T>& a, int64 count, const T* b, const T* x) {
  using Found = unsigned long long;
  const Scratch<Found> found(1);
  CUDA_CALL(cudaMemsetAsync(found.get(), 0xff, sizeof(Found), stream()));
  launch("tridiagonal_check_members", check_members<T>, blocks(count * (a.step > 1 ? 1 : 32)), dim3(kBlock), a, count,
         b, x, kMostError<T>, found.get());
  return static_cast<int64>(download(static_cast<const Found*>(found.get()), 1).front());
}

}  // namespace diagsparse::cuda::tridiagonal
