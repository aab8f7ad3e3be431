// The inner loop of formats that store rows entry by entry, on the CPU.
#pragma once

#include <algorithm>

#include "core/arithmetic.hpp"
#include "core/columns.hpp"

namespace diagsparse {

// Calls for entries that come soon: where caches fetch in pages of 4096 bytes at most, each page would begin with a wait.
template <class I, class U>
[[gnu::always_inline]] inline void fetch_ahead(const I* column, const U* value) {
  constexpr int64 kAhead = 256;  // entries
  __builtin_prefetch(column + kAhead);
  __builtin_prefetch(value + kAhead);
}

// The sum of product(value[e], column[e]) for 0 <= e < count. A long row adds up in four sums, every fourth entry each,
// so that an addition need not wait for the one before it; a short one from left to right. Always inlined, since it is
// compiled for several instruction sets under one name.
template <class T, class I, class U, class Multiply>
[[gnu::always_inline]] inline T sum_entries(const I* column, const U* value, int64 count, const Multiply& product) {
  constexpr int64 kLong = 24;
  const I* const stop = column + count;
  T sum{};
  if (count >= kLong) {
    T second{}, third{}, fourth{};
    for (; stop - column >= 4; column += 4, value += 4) {
      fetch_ahead(column, value);
      sum += product(value[0], column[0]);
      second += product(value[1], column[1]);
      third += product(value[2], column[2]);
      fourth += product(value[3], column[3]);
    }
    sum = (sum + second) + (third + fourth);
  }
  for (; stop - column >= 4; column += 4, value += 4) {
    fetch_ahead(column, value);
    sum += product(value[0], column[0]);
    sum += product(value[1], column[1]);
    sum += product(value[2], column[2]);
    sum += product(value[3], column[3]);
  }
  for (; column < stop; ++column, ++value) sum += product(*value, *column);
  return sum;
}

// The same for the places from `begin` to `end`, none of them padding, of a line that starts at place `line` and at
// chunk `chunk`: of short columns a chunk at a time, since they have a base each.
template <class T, class I, class U, class Multiply>
[[gnu::always_inline]] inline T sum_line(const Columns<I>& columns, int64 line, int64 chunk, const U* values,
                                         int64 begin, int64 end, const Multiply& product) {
  if (sizeof(I) == 4 || !columns.bases) {
    return sum_entries<T>(columns.indices + begin, values + begin, end - begin, product);
  }
  T sum{};
  for (int64 e = begin, next; e < end; e = next) {
    const int64 of = (e - line) / kChunk;
    next = std::min(end, line + (of + 1) * kChunk);
    const std::int32_t base = columns.bases[chunk + of];
    const auto from_base = [&](const U& value, int64 index) { return product(value, base + index); };
    sum += sum_entries<T>(columns.indices + e, values + e, next - e, from_base);
  }
  return sum;
}

}  // namespace diagsparse
