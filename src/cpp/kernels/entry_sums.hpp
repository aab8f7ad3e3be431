// The inner loop of formats that store rows entry by entry, on the CPU.
#pragma once

#include "core/arithmetic.hpp"

namespace diagsparse {

// The sum of product(value[e], column[e]) for 0 <= e < count. A long row adds up in four sums, every fourth entry each,
// so that an addition need not wait for the one before it; a short one from left to right. Always inlined, since it is
// compiled for several instruction sets under one name.
template <class T, class U, class Multiply>
[[gnu::always_inline]] inline T sum_entries(const std::int32_t* column, const U* value, int64 count,
                                            const Multiply& product) {
  constexpr int64 kLong = 24;
  const std::int32_t* const stop = column + count;
  T sum{};
  if (count >= kLong) {
    T second{}, third{}, fourth{};
    for (; stop - column >= 4; column += 4, value += 4) {
      sum += product(value[0], column[0]);
      second += product(value[1], column[1]);
      third += product(value[2], column[2]);
      fourth += product(value[3], column[3]);
    }
    sum = (sum + second) + (third + fourth);
  }
  for (; stop - column >= 4; column += 4, value += 4) {
    sum += product(value[0], column[0]);
    sum += product(value[1], column[1]);
    sum += product(value[2], column[2]);
    sum += product(value[3], column[3]);
  }
  for (; column < stop; ++column, ++value) sum += product(*value, *column);
  return sum;
}

}  // namespace diagsparse
