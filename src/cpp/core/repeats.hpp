// Whether a row repeats further down. constexpr, so that GPU kernels may ask too.
#pragma once

#include "core/arithmetic.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

// Whether row i + by holds the values of row i, each on the diagonal on which it lies there: of those that lie on
// diagonals of both rows. Zeros are no entries.
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
