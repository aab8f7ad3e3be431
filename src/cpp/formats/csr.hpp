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

#include "core/format.hpp"

namespace diagsparse {

extern const EntryFormat csr;

template <class T>
struct Csr {
  int64 rows, cols;
  const int64* indptr;
  const std::int32_t* indices;
  const T* values;

  static Csr of(const Matrix& m) {
    return {m.rows, m.cols, m.index("indptr").as<int64>(), m.index("indices").as<std::int32_t>(), m.values.as<T>()};
  }
};

}  // namespace diagsparse
