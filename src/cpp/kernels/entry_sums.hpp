// The inner loop of row formats with single entries, on the CPU.
#pragma once

#include <algorithm>

#include "core/arithmetic.hpp"
#include "core/columns.hpp"

namespace diagsparse {

// Prefetches entries far ahead. Hardware prefetchers stop at pages of 4096 bytes, so without it each page starts with a
// miss.
template <class I, class U>
[[gnu::always_inline]] inline void prefetch_ahead(const I* column, const U* value) {
  constexpr int64 kAhead = 256;  // entries
  __builtin_prefetch(column + kAhead);
  __builtin_prefetch(value + kAhead);
}

// The sum of product(value[e], column[e]) for 0 <= e < count. A long row is summed in four interleaved partial sums, so
// that no addition waits for the previous one; a short row from left to right. Always inlined, because it is compiled
// for several instruction sets under the same name.
template <class T, class I, class U, class Multiply>
[[gnu::always_inline]] inline T sum_entries(const I* column, const U* value, int64 count, const Multiply& product) {
  constexpr int64 kLong = 24;
  const I* const stop = column + count;
  T sum{};
  if (count >= kLong) {
    T second{}, third{}, fourth{};
    for (; stop - column >= 4; column += 4, value += 4) {
      prefetch_ahead(column, value);
      sum += product(value[0], column[0]);
      second += product(value[1], column[1]);
      third += product(value[2], column[2]);
      fourth += product(value[3], column[3]);
    }
    sum = (sum + second) + (third + fourth);
  }
  for (; stop - column >= 4; column += 4, value += 4) {
    prefetch_ahead(column, value);
    sum += product(value[0], column[0]);
    sum += product(value[1], column[1]);
    sum += product(value[2], column[2]);
    sum += product(value[3], column[3]);
  }
  for (; column < stop; ++column, ++value) sum += product(*value, *column);
  return sum;
}

// The same for the positions from `begin` to `end` - 1, without padding, of a line that starts at position `line` and
// chunk `chunk`. Compressed columns are read chunk by chunk, because each chunk has its own base.
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
