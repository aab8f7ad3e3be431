// coosc: coo sorted by column, with a pointer to the first entry of each column.
//
//       matrix A (4 x 5)         row    = [ 0 1 0 1 2 1 2 3 2 3 3 ]
//     | 1  5  .  .  . |          col    = [ 0 0 1 1 1 2 2 2 3 3 4 ]
//     | 9  2  6  .  . |          values = [ 1 9 5 2 10 6 3 11 7 4 8 ]
//     | . 10  3  7  . |          indptr = [ 0   2     5     8   10 11 ]
//     | .  . 11  4  8 |
//                                A[row[e], col[e]] = values[e]; column j holds entries
//                                indptr[j] to indptr[j + 1]
//
// row, col: int32 (nnz; so m, n < 2^31), indptr: int64 (n + 1), values: T (nnz).
// Bytes: nnz (sizeof(T) + 8) + 8 (n + 1).
// Vooturi and Kothapalli (2016) store the remainder of a quasi-band matrix this way when it is a right operand.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const Format coosc;

}  // namespace diagsparse
