// Detects rows that repeat periodically.
#pragma once

#include <algorithm>
#include <vector>

#include "core/arithmetic.hpp"
#include "core/compressed_rows.hpp"

namespace diagsparse {

// The smallest period of `count` items, or `count` if they do not repeat (Knuth, Morris, Pratt); same(i, j) compares
// two.
template <class Same>
int64 shortest_period(int64 count, const Same& same) {
  std::vector<int64> border(count + 1, 0);  // of the first i items
  for (int64 i = 1, k = 0; i < count; border[++i] = k) {
    while (k > 0 && !same(i, k)) k = border[k];
    if (same(i, k)) ++k;
  }
  return std::max<int64>(1, count - border[count]);
}

// Whether rows i and i + by hold the same values on the same diagonals, considering only diagonals that cross both
// rows. Explicit zeros are ignored. constexpr, so that GPU kernels can call it.
template <class T>
constexpr bool row_repeats(const Csr<T>& a, int64 i, int64 by) {
  const int64 end = a.indptr[i + 1], end_below = a.indptr[i + by + 1];
  for (int64 e = a.indptr[i], f = a.indptr[i + by];; ++e, ++f) {
    while (e < end && is_zero(a.values[e])) ++e;
    while (f < end_below && (a.indices[f] < by || is_zero(a.values[f]))) ++f;
    const bool done = e == end || a.indices[e] + by >= a.cols;
    if (done || f == end_below) return done && f == end_below;
    if (a.indices[f] != a.indices[e] + by || !same(a.values[e], a.values[f])) return false;
  }
}

}  // namespace diagsparse
