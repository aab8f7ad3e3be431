// coo: coordinates, canonical (row by row, columns ascending, no duplicates).
//
//       matrix A (4 x 5)         row    = [ 0 0 1 1 1 2 2 2 3 3 3 ]
//     | 1  5  .  .  . |          col    = [ 0 1 0 1 2 1 2 3 2 3 4 ]
//     | 9  2  6  .  . |          values = [ 1 5 9 2 6 10 3 7 11 4 8 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          A[row[e], col[e]] = values[e]
//
// row, col: int32 (nnz; so m, n < 2^31), values: T (nnz).   Bytes: nnz (sizeof(T) + 8).
#pragma once

#include "core/format.hpp"

namespace diagsparse {

extern const EntryFormat coo;

template <class T>
struct Coo {
  int64 rows, cols, count;
  const std::int32_t* row;
  const std::int32_t* col;
  const T* values;

  static Coo of(const Matrix& m) {
    return {
        m.rows,          m.cols, m.values.size(), m.index("row").as<std::int32_t>(), m.index("col").as<std::int32_t>(),
        m.values.as<T>()};
  }
};

}  // namespace diagsparse
