// csc: compressed sparse columns, canonical: the arrays of the transpose in csr.
//
//       matrix A (4 x 5)         indptr  = [ 0   2     5     8   10 11 ]
//     | 1  5  .  .  . |          indices = [ 0 1 0 1 2 1 2 3 2 3 3 ]
//     | 9  2  6  .  . |          values  = [ 1 9 5 2 10 6 3 11 7 4 8 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          column j holds values[indptr[j] : indptr[j + 1]]
//
// indptr: int64 (n + 1), indices: int32 (nnz; so m < 2^31), values: T (nnz).
// Bytes: nnz (sizeof(T) + 4) + 8 (n + 1).
#pragma once

#include "formats/csr/layout.hpp"

namespace diagsparse {

extern const EntryFormat csc;

template <class T>
using Csc = Csr<T>;  // the same arrays, whose lines are columns

}  // namespace diagsparse
