// The symmetries that values can have, as bits. constexpr, so that GPU kernels may ask too.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse {

constexpr unsigned kSymmetric = 1, kHermitian = 2, kSkewSymmetric = 4, kEverySymmetry = 7;

// Which of them a value and its mirror image break; what is no number breaks all.
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
