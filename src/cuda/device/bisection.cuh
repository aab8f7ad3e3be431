// Bisection in kernels.
#pragma once

#include "core/types.hpp"

namespace diagsparse::cuda {

// Returns the first of first ... last - 1 for which `before` does not hold, or `last` if it holds for all. `before`
// must not become true again after it has become false. If it holds for `first`, the last one for which it holds is
// bisect(first + 1, last, before) - 1.
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
