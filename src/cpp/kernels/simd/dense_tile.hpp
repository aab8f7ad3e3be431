// A tile of a dense product: kRows x kCols sums in registers, from packed panels of A and B.
//
//   a: steps x kRows, b: steps x kCols, out: kRows x kCols, in row-major order.
//
// Each step multiplies kCols values of B by kRows values of A. Complex values of B are multiplied by the real and the
// imaginary parts of A separately, and these sums are combined at the end. With AVX-512, 12 rows of one vector use 12
// of 32 registers (24 for complex values); with AVX2, 6 rows of two vectors use 12 of 16.
#pragma once

#include "core/types.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

template <class T>
struct DenseTile {
  using R = Real<T>;
  static constexpr int kParts = is_complex<T> ? 2 : 1;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(R));
  static constexpr int kRows = kVectorBytes == 64 ? 12 : 6, kVectors = kVectorBytes == 64 || is_complex<T> ? 1 : 2;
  static constexpr int kCols = kVectors * kLanes / kParts;
  using Vec = Vector<R, kLanes>;

  // out = a^T b
  [[gnu::noinline]] static void multiply(const T* a, const T* b, int64 steps, T* out) {
    const auto *left = reinterpret_cast<const R*>(a), *right = reinterpret_cast<const R*>(b);
    Vec sum[kRows][kVectors][kParts] = {};
    for (; steps > 0; --steps, left += kParts * kRows, right += kVectors * kLanes) {
      Vec columns[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) columns[v] = load<R, kLanes>(right + v * kLanes);
#pragma GCC unroll 12
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
          for (int p = 0; p < kParts; ++p) sum[r][v][p] += left[kParts * r + p] * columns[v];
        }
      }
    }
    auto* to = reinterpret_cast<R*>(out);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v, to += kLanes) {
        store(to, sum[r][v][0]);
        if constexpr (is_complex<T>) {
          R imaginary[kLanes];
          store(imaginary, sum[r][v][1]);
          for (int l = 0; l < kLanes; l += 2) to[l] -= imaginary[l + 1], to[l + 1] += imaginary[l];
        }
      }
    }
  }

  // Whether all sums are finite.
  static bool all_finite(const T* sums) {
    const auto* const parts = reinterpret_cast<const R*>(sums);
    R differences = 0;
    for (int n = 0; n < kRows * kCols * kParts; ++n) differences += parts[n] - parts[n];
    return differences == 0;
  }

  // Copies elements of a diagonal to a panel of width `Width`.
  template <int Width>
  [[gnu::always_inline]] static void spread(const T* from, int64 count, bool conj, T* to) {
    if (count == Width) {
#pragma GCC unroll 32
      for (int n = 0; n < Width; ++n) to[n * (Width + 1)] = conjugate_if(conj, from[n]);
    } else {
      for (int64 n = 0; n < count; ++n) to[n * (Width + 1)] = conjugate_if(conj, from[n]);
    }
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
