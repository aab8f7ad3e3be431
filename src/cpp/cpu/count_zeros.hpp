// Counting zeros in memory.
#pragma once

#include <algorithm>

#include "core/arithmetic.hpp"

namespace diagsparse {

// The number of zeros among `count` values. They are counted in the type of the values, of which compilers make
// vectors, a few at a time, so that each number is exact in a type of any size.
template <class T>
int64 count_zeros(const T* values, int64 count) {
  constexpr int64 lanes = 8, most = 16 * lanes;
  int64 zeros = 0, t = 0;
  while (t + lanes <= count) {
    Real<T> of_lanes[lanes] = {};
    for (const int64 end = std::min(count - lanes, t + most - lanes); t <= end; t += lanes) {
      for (int64 lane = 0; lane < lanes; ++lane) of_lanes[lane] += is_zero(values[t + lane]) ? Real<T>(1) : Real<T>(0);
    }
    for (const Real<T> number : of_lanes) zeros += static_cast<int64>(number);
  }
  for (; t < count; ++t) zeros += is_zero(values[t]);
  return zeros;
}

}  // namespace diagsparse
