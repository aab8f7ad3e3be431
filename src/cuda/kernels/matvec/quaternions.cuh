// Vectors of quaternions, and products of quaternions in registers (core/quaternions.hpp).
#pragma once

#include "core/quaternions.hpp"
#include "device/dense.cuh"
#include "device/values.cuh"

namespace diagsparse::cuda {

// x and y, and the signs of a product, as an argument of a kernel.
template <class R>
struct QuaternionVectors {
  const R* x;  // aligned to 16 bytes
  R* y;
  int64 width;      // components in a row
  R part[4], side;  // factors of the components of an element; -1 for x q

  QuaternionVectors(const R* x, const Dense& y, const QuaternionSigns& signs)
      : x(x), y(y.as<R>()), width(y.cols), side(static_cast<R>(signs.on_right ? -1 : 1)) {
    std::copy_n(signs.part, 4, part);
  }

  // The components of an element a + b j.
  template <class U>
  __device__ void element(Complex<U> a, Complex<U> b, R (&q)[4]) const {
    q[0] = part[0] * a.re;
    q[1] = part[1] * a.im;
    q[2] = part[2] * b.re;
    q[3] = part[3] * b.im;
  }
  // sum += q x, or x q. The terms in which the components do not commute have the factor `side`.
  __device__ void add(const R (&q)[4], const R (&x)[4], R (&sum)[4]) const {
    const R other[4] = {q[0], side * q[1], side * q[2], side * q[3]};
    sum[0] += q[0] * x[0];
    sum[1] += q[0] * x[1];
    sum[2] += q[0] * x[2];
    sum[3] += q[0] * x[3];
    sum[0] -= q[1] * x[1];
    sum[1] += q[1] * x[0];
    sum[2] -= other[1] * x[3];
    sum[3] += other[1] * x[2];
    sum[0] -= q[2] * x[2];
    sum[1] += other[2] * x[3];
    sum[2] += q[2] * x[0];
    sum[3] -= other[2] * x[1];
    sum[0] -= q[3] * x[3];
    sum[1] -= other[3] * x[2];
    sum[2] += other[3] * x[1];
    sum[3] += q[3] * x[0];
  }
  __device__ void load(const R* from, R (&q)[4]) const {
    constexpr int count = 4 * sizeof(R) / sizeof(uint4);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const uint4 packet = __ldg(reinterpret_cast<const uint4*>(from) + k);
      __builtin_memcpy(reinterpret_cast<char*>(q) + k * sizeof packet, &packet, sizeof packet);
    }
  }
  __device__ void store(R* to, const R (&q)[4]) const {
    store_once(reinterpret_cast<Complex<R>*>(to), {q[0], q[1]});
    store_once(reinterpret_cast<Complex<R>*>(to) + 1, {q[2], q[3]});
  }
};

// The sums of a thread: those of a row, for up to `Columns` quaternions of its row of x and y.
template <int Columns, class R>
class QuaternionSums {
 public:
  static constexpr int together = Columns == 1 ? 2 : 1;  // elements whose loads are in flight together

  // first: the first component of the row.
  __device__ QuaternionSums(const QuaternionVectors<R>& vectors, int64 first) : vectors_(vectors), first_(first) {}

  // Adds products of the next elements of A + B j. find(k, a, b, x) sets pointers to element k and to that component of
  // its row of x, and returns whether there is one.
  template <class A, class F>
  __device__ void add(const F& find) {
    A from_a[together], from_b[together];
    R x[together][Columns][4];
    bool holds[together];
#pragma unroll
    for (int k = 0; k < together; ++k) {
      const A *a, *b;
      const R* from_x;
      holds[k] = find(k, a, b, from_x);
      if (!holds[k]) continue;
      from_a[k] = load_once(a);
      from_b[k] = load_once(b);
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        if (has(j)) vectors_.load(from_x + 4 * j, x[k][j]);
      }
    }
#pragma unroll
    for (int k = 0; k < together; ++k) {
      if (!holds[k]) continue;
      R q[4];
      vectors_.element(from_a[k], from_b[k], q);
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        if (has(j)) vectors_.add(q, x[k][j], sums_[j]);
      }
    }
  }
  __device__ void store(R* y) const {
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      if (has(j)) vectors_.store(y + 4 * j, sums_[j]);
    }
  }

 private:
  __device__ bool has(int j) const { return Columns == 1 || first_ + 4 * j < vectors_.width; }

  const QuaternionVectors<R>& vectors_;
  int64 first_;
  R sums_[Columns][4] = {};
};

// Calls f(vectors, columns) with the number of quaternions of a row for which a thread reads A and B once, a constant,
// and a grid of `blocks` blocks of threads for the rows. x is copied if it is not aligned.
template <class R, class F>
void with_columns(const Dense& x, const Dense& y, const QuaternionSigns& signs, int64 blocks, const F& f) {
  Array copy;
  const R* from = x.as<R>();
  if (reinterpret_cast<std::uintptr_t>(from) % sizeof(uint4) != 0) {
    copy = Array::empty(x.dtype, {x.rows * x.cols});
    copy_bytes(copy.data, from, copy.nbytes());
    from = copy.as<R>();
  }
  const QuaternionVectors<R> vectors(from, y, signs);
  const auto run = [&](auto columns) {
    constexpr int components = 4 * decltype(columns)::value;
    const int64 groups = std::min<int64>(ceil_div(y.cols, components), 1024);
    f(vectors, columns, dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(groups)));
  };
  if (y.cols == 4) run(std::integral_constant<int, 1>{});
  else run(std::integral_constant<int, 4>{});
}

}  // namespace diagsparse::cuda
