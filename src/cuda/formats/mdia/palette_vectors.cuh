// y = alpha op(A) x + beta y for a matrix with a palette, read in the order in which it is stored, and vectors whose
// elements are contiguous; also a whole step of a chain. All diagonals but one have at most two values, so masks and
// signs are all that is read of them.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n.  y: m.
#pragma once

#include "core/recurrence.hpp"
#include "formats/mdia/palette_bits.cuh"
#include "formats/mdia/palette_tall.cuh"

namespace diagsparse::cuda::mdia {

namespace {

// Whether values of this type are only stored, and converted for any arithmetic.
template <class U>
constexpr bool stored_only = std::is_same_v<U, Float16> || std::is_same_v<U, BFloat16>;

// Rows from which `sum_tall` is faster.
template <class T>
constexpr int64 kTallRows = sizeof(T) > 8 ? int64{1} << 23 : int64{1} << 17;

// What becomes of the sum of a row: an element of y.
template <class T>
struct ProductOutput {
  T* y;
  Update<T> update;

  __device__ void write(std::uint32_t row, T sum) const {
    if (update.plain) store_once(y + row, sum);
    else update.one(y + row, sum);
  }
};

// An element of the next vector of a chain, and of the sum y of the vectors.
template <class T>
struct StepOutput {
  const T* v;
  T *next, *y;
  Update<T> update;
  RestOfStep<T> rest;

  __device__ void write(std::uint32_t row, T sum) const {
    T u = update.reads ? update.alpha * sum + update.beta * next[row] : update.alpha * sum;
    if (rest.shifts) u = rest.beta * v[row] + u;
    next[row] = u;
    if (rest.sums) store_once(y + row, rest.c * u + load_once(y + row));
  }
};

// Whether `sum_palette` computes op(A) x, for values that are not stored in 16 bits.
inline bool sums_palette(const Matrix& matrix, Op op, const Dense& x, const Dense& y) {
  const Structure& a = *matrix.structure;
  return has_palette(a) && in_order(a, op) && x.cols == 1 && x.row_stride == 1 && y.row_stride == 1 &&
         resident_palette(a)->signs();
}

template <class U, class V, class Output>
void sum_palette(const Matrix& matrix, bool conj, const Dense& x, const Output& output) {
  using T = Product<U, V>;
  const auto palette = resident_palette(*matrix.structure);
  const auto a = Mdia<U>::of(matrix);
  const auto number = [](int64 count) { return static_cast<std::uint32_t>(count); };
  const PaletteOperand<U> m{a.mask,
                            a.values,
                            a.codes,
                            a.begin,
                            palette->list.template as<const PaletteDiagonal>(),
                            palette->order,
                            number(a.rows),
                            number(a.cols),
                            number(a.blocks()),
                            number(a.diagonals),
                            number(a.words),
                            palette->ones() ? palette->several : palette->more,
                            conj};
  const auto run = [&](const char* name, auto kernel, int64 blocks, int threads) {
    launch(name, kernel, dim3(number(blocks)), dim3(static_cast<unsigned>(threads)), m, x.as<const V>(), output);
  };
  const int64 blocks = ceil_div(a.rows, kBitsThreads);
  if (!palette->ones()) {
    run("mdia palette, two values", sum_bits<true, U, V, Output>, blocks, kBitsThreads);
  } else if (a.rows < kTallRows<T>) {
    run("mdia palette", sum_bits<false, U, V, Output>, blocks, kBitsThreads);
  } else {
    const int64 warps = ceil_div(a.blocks(), kTall);
    run("mdia palette, four blocks", sum_tall<U, V, Output>, ceil_div(warps, kTallThreads / 32), kTallThreads);
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
