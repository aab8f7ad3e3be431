// Bisection in kernels.
#pragma once

#include "core/types.hpp"

namespace diagsparse::cuda {

// `before` holds for the beginning of first ... last - 1: where it ends to hold, `last` if it never does. The last one
// for which it holds, where it holds for `first`, is bisect(first + 1, last, before) - 1.
template <class F>
inline __device__ int64 bisect(int64 first, int64 last, const F& before) {
  while (first < last) {
    const int64 middle = (first + last) / 2;
    if (before(middle)) first = middle + 1;
    else last = middle;
  }
  return first;
}

}  // namespace diagsparse::cuda
