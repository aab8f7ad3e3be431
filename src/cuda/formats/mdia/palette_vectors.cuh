// y = alpha op(A) x + beta y for a matrix with a palette, read in the order in which it is stored, and vectors whose
// elements are contiguous. All diagonals but one have at most two values, so masks and signs are all that is read of
// them.
//
//   A: m x n masked diagonals (formats/mdia/layout.hpp).  x: n.  y: m.
#pragma once

#include "formats/mdia/palette_bits.cuh"
#include "formats/mdia/palette_tall.cuh"

namespace diagsparse::cuda::mdia {

namespace {

// Rows from which `sum_tall` is faster.
template <class T>
constexpr int64 kTallRows = sizeof(T) > 8 ? int64{1} << 23 : int64{1} << 17;

template <class U, class V>
void sum_palette(const Matrix& matrix, bool conj, const Dense& x, Scalar alpha, Scalar beta, const Dense& y) {
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
  const Update<T> update(alpha, beta);
  const auto run = [&](const char* name, auto kernel, int64 blocks, int threads) {
    launch(name, kernel, dim3(number(blocks)), dim3(static_cast<unsigned>(threads)), m, x.as<const V>(), y.as<T>(),
           update);
  };
  const int64 blocks = ceil_div(a.rows, kBitsThreads);
  if (!palette->ones()) {
    run("mdia palette, two values", sum_bits<true, U, V>, blocks, kBitsThreads);
  } else if (a.rows < kTallRows<T>) {
    run("mdia palette", sum_bits<false, U, V>, blocks, kBitsThreads);
  } else {
    const int64 warps = ceil_div(a.blocks(), kTall);
    run("mdia palette, four blocks", sum_tall<U, V>, ceil_div(warps, kTallThreads / 32), kTallThreads);
  }
}

}  // namespace

}  // namespace diagsparse::cuda::mdia
