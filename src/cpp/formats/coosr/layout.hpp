// coosr: coo sorted by row, with a pointer to the first entry of each row.
//
//       matrix A (4 x 5)         row    = [ 0 0 1 1 1 2 2 2 3 3 3 ]
//     | 1  5  .  .  . |          col    = [ 0 1 0 1 2 1 2 3 2 3 4 ]
//     | 9  2  6  .  . |          values = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10  3  7  . |          indptr = [ 0   2     5     8    11 ]
//     | .  . 11  4  8 |
//                                A[row[e], col[e]] = values[e]; row i holds entries indptr[i] to indptr[i + 1]
//
// row, col: int32 (nnz; so m, n < 2^31), indptr: int64 (m + 1), values: T (nnz).
// Bytes: nnz (sizeof(T) + 8) + 8 (m + 1).
// Vooturi and Kothapalli (2016) store the remainder of a quasi-band matrix this way when it is a left operand.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const Format coosr;

}  // namespace diagsparse
