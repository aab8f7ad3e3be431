// Single elements of sampled products: the products of a row of X and rows of Y, whose elements are contiguous.
#pragma once

#include "core/sampled.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// The rows of X or Y.
template <class T>
struct DenseRows {
  const T* data;
  int64 step, length;

  explicit DenseRows(const Dense& d) : data(d.as<T>()), step(d.row_stride), length(d.cols) {}
  const T* operator[](int64 i) const { return data + i * step; }
};

// The sum over p of x[p] y[p]: each lane of a vector adds every n-th term; the lanes are added in order, and then the
// terms that do not fill a vector.
template <class T>
[[gnu::always_inline]] inline T row_product(const T* x, const T* y, int64 length) {
  using M = Mac<T, T>;
  if (length == 1) return product(*x, *y);
  T sum{};
  int64 p = 0;
  if (length >= M::step) {
    typename M::Acc acc;
    for (; p + M::step <= length; p += M::step) M::add(acc, M::left(x + p), M::right(y + p));
    T lanes[M::step];
    store(reinterpret_cast<typename M::R*>(lanes), M::total(acc, M::signs(false, false)));
    for (const T& lane : lanes) sum += lane;
  }
  for (; p < length; ++p) add_product(sum, x[p], y[p]);
  return sum;
}

}  // namespace diagsparse::DIAGSPARSE_ISA
