// csr: compressed sparse rows, canonical (columns ascending in a row, no duplicates).
//
//       matrix A (4 x 5)         indptr  = [ 0   2     5     8    11 ]
//     | 1  5  .  .  . |          indices = [ 0 1 0 1 2 1 2 3 2 3 4 ]
//     | 9  2  6  .  . |          values  = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          row i holds values[indptr[i] : indptr[i + 1]]
//
// indptr: int64 (m + 1), indices: int32 (nnz; so n < 2^31), values: T (nnz).
// Bytes: nnz (sizeof(T) + 4) + 8 (m + 1).
#pragma once

#include "core/compressed_rows.hpp"

namespace diagsparse {

extern const EntryFormat csr;

// The transpose of a matrix, over the same arrays: a csc matrix as csr, and a csr matrix as csc.
inline Matrix transposed_csr(const Matrix& m) {
  return {static_cast<const Indices&>(*m.structure).transposed(csr.name), m.values};
}
inline Matrix transposed_csc(const Matrix& m) {
  return {static_cast<const Indices&>(*m.structure).transposed(csr.dual), m.values};
}

}  // namespace diagsparse
