// What factorizations and substitution do with pivots, on both devices.
#pragma once

#include <cmath>

#include "core/arithmetic.hpp"

namespace diagsparse {

template <class T>
constexpr Real<T> real_part(T v) {
  if constexpr (is_complex<T>) return v.re;
  else return v;
}

template <class T>
constexpr bool is_finite(T v) {
  if constexpr (is_complex<T>) return std::isfinite(v.re) && std::isfinite(v.im);
  else return std::isfinite(v);
}

template <class T>
constexpr T reciprocal(T v) {
  if constexpr (is_complex<T>) {  // Smith's algorithm, which does not overflow in between
    using R = Real<T>;
    if (std::abs(v.re) >= std::abs(v.im)) {
      const R ratio = v.im / v.re, scale = v.re + v.im * ratio;
      return {1 / scale, -ratio / scale};
    }
    const R ratio = v.re / v.im, scale = v.re * ratio + v.im;
    return {ratio / scale, -1 / scale};
  } else {
    return 1 / v;
  }
}

}  // namespace diagsparse
