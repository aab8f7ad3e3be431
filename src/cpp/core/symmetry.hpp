// The symmetries of values, as bits. constexpr, so that GPU kernels can use them.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse {

constexpr unsigned kSymmetric = 1, kHermitian = 2, kSkewSymmetric = 4, kEverySymmetry = 7;

// The symmetries that a value and its mirror image violate; a NaN violates all of them.
template <class T>
constexpr unsigned symmetries_broken_by(T value, T mirror) {
  if constexpr (is_complex<T>) {
    const bool real = value.re == mirror.re, imaginary = value.im == mirror.im, opposite = value.im == -mirror.im;
    return (real && imaginary ? 0 : kSymmetric) | (real && opposite ? 0 : kHermitian) |
           (value.re == -mirror.re && opposite ? 0 : kSkewSymmetric);
  } else {
    return (value == mirror ? 0 : kSymmetric | kHermitian) | (value == -mirror ? 0 : kSkewSymmetric);
  }
}

}  // namespace diagsparse
