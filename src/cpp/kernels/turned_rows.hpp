// The inner loop of formats that store rows turned, so that entry w of neighbouring rows lie side by side; on the CPU.
#pragma once

#include <algorithm>

#include "core/arithmetic.hpp"

namespace diagsparse {

constexpr int64 kTurnedRows = 1024;  // rows at a time: their sums stay in the first cache

// Rows 0 <= i < count: entry w of row i is value[w stride + i] in column index[w stride + i]; from a negative index on
// the row is padding.
template <class U>
struct TurnedRows {
  int64 count, width, stride;
  const std::int32_t* index;
  const U* value;
};

// The steps of `add_turned`: from entry w on by groups of entries, while all rows of the block have them. A sum is in a
// register for a group. Returns the entry that comes next.
template <int Group, bool Plain, class T, class U, class V>
int64 add_groups(int64 w, const TurnedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  for (; w + Group <= rows.width; w += Group) {
    const std::int32_t* const index = rows.index + w * rows.stride;
    const U* const value = rows.value + w * rows.stride;
    const std::int32_t* const last = index + (Group - 1) * rows.stride;
    std::int32_t any = 0;
    for (int64 i = 0; i < rows.count; ++i) any |= last[i];
    if (any < 0) break;
    for (int64 i = 0; i < rows.count; ++i) {
      T sum = sums[i];
#pragma GCC unroll 8
      for (int g = 0; g < Group; ++g) {
        const int64 e = g * rows.stride + i;
        if constexpr (Plain) sum += multiply(value[e], x[index[e]]);
        else sum += multiply(conjugate_if(conj, value[e]), x[index[e] * x_step]);
      }
      sums[i] = sum;
    }
  }
  return w;
}

template <bool Plain, class T, class U, class V>
void add_turned_as(const TurnedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  int64 w = add_groups<8, Plain>(0, rows, conj, x, x_step, sums);
  w = add_groups<4, Plain>(w, rows, conj, x, x_step, sums);
  w = add_groups<1, Plain>(w, rows, conj, x, x_step, sums);
  for (int64 left = rows.count; w < rows.width && left > 0; ++w) {  // some rows are over
    left = 0;
    for (int64 i = 0, e = w * rows.stride; i < rows.count; ++i, ++e) {
      if (rows.index[e] < 0) continue;
      sums[i] += multiply(conjugate_if(conj, rows.value[e]), x[rows.index[e] * x_step]);
      ++left;
    }
  }
}

// sums[i] += row i times x, entry after entry.
template <class T, class U, class V>
void add_turned(const TurnedRows<U>& rows, bool conj, const V* x, int64 x_step, T* sums) {
  // The common case, neighbouring elements and no conjugate, as a loop of its own.
  if (x_step == 1 && !conj) add_turned_as<true>(rows, false, x, 1, sums);
  else add_turned_as<false>(rows, conj, x, x_step, sums);
}

}  // namespace diagsparse
