// dia: padded diagonals, row aligned.
//
//       matrix A (4 x 5)         offsets = [ -1  0  1 ]          (any order, each once)
//     | 1  5  .  .  . |
//     | 9  2  6  .  . |          values  = [ *  9 10 11 ]        values[d, i] = A[i, i + offsets[d]]
//     | . 10  3  7  . |                    [ 1  2  3  4 ]        one row of m values per diagonal;
//     | .  . 11  4  8 |                    [ 5  6  7  8 ]        * = padding, never read
//
// offsets: int64 (D), values: T (D x m).   Bytes: D (m sizeof(T) + 8).
// SciPy's dia_array aligns by column instead (data[d, j] = A[j - offsets[d], j]): conversions realign the values.
// The thesis on bmSparse (as CSD) and the paper on quasi-bands use the row-aligned scheme.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const DiagonalFormat dia;

}  // namespace diagsparse
