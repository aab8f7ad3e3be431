// coosr: coo, row by row, that also knows where each row begins.
//
//       matrix A (4 x 5)         row    = [ 0 0 1 1 1 2 2 2 3 3 3 ]
//     | 1  5  .  .  . |          col    = [ 0 1 0 1 2 1 2 3 2 3 4 ]
//     | 9  2  6  .  . |          values = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10  3  7  . |          indptr = [ 0   2     5     8    11 ]
//     | .  . 11  4  8 |
//                                A[row[e], col[e]] = values[e]; row i has the entries from indptr[i] to indptr[i + 1]
//
// row, col: int32 (nnz; so m, n < 2^31), indptr: int64 (m + 1), values: T (nnz).
// Bytes: nnz (sizeof(T) + 8) + 8 (m + 1).
// Vooturi and Kothapalli (2016): the remainder of a quasi-band matrix as a left operand.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const Format coosr;

}  // namespace diagsparse
