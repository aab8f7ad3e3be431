// Residuals of tridiagonal solutions: for verification, and for a step of iterative refinement.
//
// A thread processes a row; all arrays are read in order. Maxima are exact, so every run gives the same bits.
#pragma once

#include "kernels/tridiagonal/parts.cuh"

namespace diagsparse::cuda::tridiagonal {

// Row `row` of the matrix; elements outside of it are zero.
template <class T>
__device__ Row<T> row_of(const Diagonals<T>& a, int64 row) {
  const int64 block = a.stride > 0 ? a.block : a.n, member = row / block, i = row - member * block;
  const int64 at = member * a.stride + i;
  Row<T> result{};
  result.main = load(a.main + at);
  if (a.lower && i > 0) result.below = load(a.lower + at - 1);
  if (a.upper && i + 1 < block) result.above = load(a.upper + at);
  return result;
}

// The element of b - A x.
template <class T>
__device__ T residual_of(const Diagonals<T>& a, const Row<T>& own, const T* b, const T* x, int64 row) {
  T r = less_product(load(b + row), own.main, load(x + row));
  if (row > 0) r = less_product(r, own.below, load(x + row - 1));
  if (row + 1 < a.n) r = less_product(r, own.above, load(x + row + 1));
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

// The largest residual, element of x, element of b, and row sum; as bits, which have the order of the numbers. NaN is
// larger than all of them.
struct Largest {
  unsigned long long residual, x, b, row;
};
inline __device__ void keep_largest(unsigned long long* most, double value) {
  unsigned long long bits = static_cast<unsigned long long>(__double_as_longlong(fabs(value)));
  for (int step = 16; step > 0; step /= 2) bits = max(bits, __shfl_xor_sync(~0u, bits, step));
  if (threadIdx.x % 32 == 0) atomicMax(most, bits);
}
template <class T>
__global__ void __launch_bounds__(kBlock) find_largest(const Diagonals<T> a, const T* b, const T* x, Largest* most) {
  const int64 width = static_cast<int64>(gridDim.x) * blockDim.x;
  double residual = 0, size = 0, given = 0, sum = 0;
  const auto larger = [](double& u, double v) {
    if (v > u || v != v) u = v;
  };
  for (int64 row = thread_index(); row < a.n; row += width) {
    const Row<T> own = row_of(a, row);
    larger(residual, magnitude(residual_of(a, own, b, x, row)));
    larger(size, magnitude(load(x + row)));
    larger(given, magnitude(load(b + row)));
    larger(sum, magnitude(own.below) + magnitude(own.main) + magnitude(own.above));
  }
  keep_largest(&most->residual, residual);
  keep_largest(&most->x, size);
  keep_largest(&most->b, given);
  keep_largest(&most->row, sum);
}

// The normwise backward error |b - A x| / (|A| |x| + |b|). Waits for the device.
inline double backward_error(const Largest* most) {
  const Largest found = download(most, 1).front();
  const auto value = [](unsigned long long bits) { return std::bit_cast<double>(bits); };
  const double size = value(found.row) * value(found.x) + value(found.b);
  return size > 0 ? value(found.residual) / size : value(found.residual);
}
// That of x for a tridiagonal matrix.
template <class T>
double backward_error(const Diagonals<T>& a, const T* b, const T* x) {
  const Scratch<Largest> most(1);
  CUDA_CALL(cudaMemsetAsync(most.get(), 0, sizeof(Largest), stream()));
  constexpr int64 kEnough = 4096;  // blocks, of which each processes many rows
  const dim3 grid(static_cast<unsigned>(std::min(kEnough, ceil_div(a.n, kBlock))));
  launch("tridiagonal_find_largest", find_largest<T>, grid, dim3(kBlock), a, b, x, most.get());
  return backward_error(most.get());
}

}  // namespace diagsparse::cuda::tridiagonal
