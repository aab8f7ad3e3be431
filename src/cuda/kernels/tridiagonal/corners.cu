// The correction of tridiagonal solutions for two corner elements: a matrix of rank 2 times their ends.
//
//   x: rows x k, y: rows x 2. One kernel copies the ends of x, because the other one overwrites them. Its threads
//   process a row of every gridDim.y-th column, and read y and x in order. Every run gives the same bits.
#include "core/arithmetic.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"
#include "kernels/tridiagonal/arithmetic.cuh"
#include "kernels/tridiagonal/corners.hpp"

namespace diagsparse::cuda::tridiagonal {

namespace {

__device__ int64 position(const Placement& p, int64 member, int64 row) {
  return p.interleaved ? row * p.count + member : member * p.n + row;
}
// The member of an element of a vector.
__device__ int64 member_at(const Placement& p, int64 i) {
  if (p.count == 1) return 0;
  return p.interleaved ? i % p.count : i / p.n;
}

template <class T>
__global__ void __launch_bounds__(kBlock) write_ends_of(const Placement p, T* y, int64 stride) {
  const int64 i = thread_index();
  if (i >= p.n * p.count) return;
  const int64 row = p.interleaved ? i / p.count : i % p.n;
  y[i] = convert<T>(row == 0);
  y[stride + i] = convert<T>(row == p.n - 1);
}

// A thread processes a member.
template <class T>
__global__ void __launch_bounds__(kBlock) weigh_corners(const Placement p, const T* corner_first, const T* corner_last,
                                                        const T* y, int64 stride, T* weights) {
  const int64 member = thread_index();
  if (member >= p.count) return;
  const int64 top = position(p, member, 0), bottom = position(p, member, p.n - 1);
  const T first = load(corner_first + member), last = load(corner_last + member), one = convert<T>(1);
  // I + K P^T y, whose inverse is multiplied by K
  const T a = less_product(one, minus(first), load(y + bottom)), b = first * load(y + stride + bottom);
  const T c = last * load(y + top), d = less_product(one, minus(last), load(y + stride + top));
  const bool exchange = magnitude(c) > magnitude(a);
  const T pivot = exchange ? c : a, right = exchange ? d : b, below = exchange ? a : c;
  const T inverse = unchecked_reciprocal(pivot), factor = below * inverse;
  const T rest = unchecked_reciprocal(less_product(exchange ? b : d, factor, right));
  const T rows[2][2] = {{exchange ? last : T{}, exchange ? T{} : first},
                        {exchange ? T{} : last, exchange ? first : T{}}};
  T* const to = weights + 4 * member;
  for (int column = 0; column < 2; ++column) {
    const T second = less_product(rows[1][column], factor, rows[0][column]) * rest;
    to[column] = less_product(rows[0][column], right, second) * inverse;
    to[2 + column] = second;
  }
}

template <class T>
__global__ void __launch_bounds__(kBlock) copy_ends(const Placement p, const T* x, int64 cols, int64 stride, T* ends) {
  const int64 i = thread_index();
  if (i >= p.count * cols) return;
  const int64 member = i % p.count;
  const T* const column = x + i / p.count * stride;
  ends[2 * i] = load(column + position(p, member, 0));
  ends[2 * i + 1] = load(column + position(p, member, p.n - 1));
}

template <class T>
__global__ void __launch_bounds__(kBlock) subtract_ends(const Placement p, const T* y, int64 y_stride, const T* weights,
                                                        const T* ends, T* x, int64 cols, int64 stride) {
  const int64 i = thread_index();
  if (i >= p.n * p.count) return;
  const int64 member = member_at(p, i);
  const T* const m = weights + 4 * member;
  const T first = load(y + i), second = load(y + y_stride + i);
  const T by_first = first * load(m) + second * load(m + 2), by_last = first * load(m + 1) + second * load(m + 3);
  for (int64 column = blockIdx.y; column < cols; column += gridDim.y) {
    T* const at = x + column * stride + i;
    const T* const end = ends + 2 * (column * p.count + member);
    *at = *at + minus(by_first * load(end) + by_last * load(end + 1));
  }
}

}  // namespace

void write_ends(const Placement& p, const Dense& y) {
  if (p.rows() == 0) return;
  with_value_type(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("tridiagonal_write_ends", write_ends_of<T>, blocks(p.rows()), dim3(kBlock), p, y.as<T>(), y.col_stride);
  });
}

Array corner_weights(const Placement& p, const Array& first, const Array& last, const Dense& y) {
  Array weights = Array::empty(y.dtype, {4 * p.count});
  if (p.rows() == 0) return weights;
  with_value_type(y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("tridiagonal_weigh_corners", weigh_corners<T>, blocks(p.count), dim3(kBlock), p, first.as<const T>(),
           last.as<const T>(), y.as<const T>(), y.col_stride, weights.as<T>());
  });
  return weights;
}

void correct_for_corners(const Placement& p, const Dense& y, const Array& weights, const Dense& x) {
  if (x.rows == 0 || x.cols == 0) return;
  with_value_type(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Scratch<T> ends(2 * p.count * x.cols);
    launch("tridiagonal_copy_ends", copy_ends<T>, blocks(p.count * x.cols), dim3(kBlock), p, x.as<const T>(), x.cols,
           x.col_stride, ends.get());
    launch("tridiagonal_subtract_ends", subtract_ends<T>, blocks_by_columns(x.rows, x.cols), dim3(kBlock), p,
           y.as<const T>(), y.col_stride, weights.as<const T>(), static_cast<const T*>(ends.get()), x.as<T>(), x.cols,
           x.col_stride);
  });
}

}  // namespace diagsparse::cuda::tridiagonal
