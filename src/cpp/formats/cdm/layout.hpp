// cdm: compact diagonals, superdiagonal k stacked on subdiagonal n - k; square only.
//
//       matrix A (4 x 4)         rows   = [ 0  1  3 ]            (any order, each once)
//     | 1  5  .  . |
//     | 9  2  6  . |             values = [ 1  2  3  4 ]         row 0: the main diagonal
//     | . 10  3  7 |                      [ 5  6  7  0 ]         row 1: superdiagonal 1, subdiagonal -3
//     | .  . 11  4 |                      [ 0  9 10 11 ]         row 3: superdiagonal 3, subdiagonal -1
//
// rows: int64 (R), values: T (R x n), and values[r, i] = A[i, (i + rows[r]) mod n]: every row is full.
// If a matrix has only one of the two diagonals of a row, as bands do, the other half of the row is zero.
// Bytes: R (n sizeof(T) + 8).
// Haque, Parvez, Hossain, Algorithms 17(1):31, 2024, section 3.2.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const DiagonalFormat cdm;

}  // namespace diagsparse
