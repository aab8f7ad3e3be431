// ellcsr: the leading entries of each row side by side, row after row, the rest of it in csr.
//
//       matrix A (4 x 5), boundary 2       ell_indices = [ 0 1 ]
//     | 1  5  .  .  . |                                  [ 0 1 ]
//     | 9  2  6  .  . |                                  [ 1 2 ]
//     | . 10  3  7  . |                                  [ 2 3 ]
//     | .  . 11  4  8 |                    csr_indices = [ 2 3 4 ]
//                                          csr_indptr  = [ 0 0 1 2 3 ]
//                                          values      = [ 1 5  9 2  10 3  11 4 | 6 7 8 ]
//
// Row i has values[w + i width] in column ell_indices[i, w], up to the first -1, and then values[m width + e] in column
// csr_indices[e] for csr_indptr[i] <= e < csr_indptr[i + 1]. Columns ascend along the whole row.
// ell_indices: int32 (m, width), -1 in the padding; csr_indices: int32 (rest); csr_indptr: int64 (m + 1);
// values: T (m width + rest).
// Bytes: width m (sizeof(T) + 4) + rest (sizeof(T) + 4) + 8 (m + 1).
//
// The boundary counts the leading entries of a row, or is the column before which they lie; then the row with most of
// them makes the width. By default it is the length of the shortest row: as much as fits without padding.
// Mahmoud, Hoffmann and Reza (2018), algorithm 6.
#pragma once

#include "core/format.hpp"
#include "core/gate.hpp"

namespace diagsparse {

extern const Format ellcsr;

template <class T>
struct EllCsr {
  int64 rows, cols, width;
  const std::int32_t *head, *rest;  // columns
  const int64* indptr;
  const T *head_values, *rest_values;

  static EllCsr of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static EllCsr over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array& head = arrays.at("ell_indices");
    return {structure.rows,
            structure.cols,
            head.shape.cols,
            head.as<std::int32_t>(),
            arrays.at("csr_indices").as<std::int32_t>(),
            arrays.at("csr_indptr").as<int64>(),
            values,
            values + head.shape.rows * head.shape.cols};
  }
};

// Which entries of a row lead: the first `entries`, as far as they lie in columns below `column`.
struct Leading {
  int64 entries = kAnyExtent;
  int64 column = kAnyExtent;
};

// The matrix of these arrays.
Matrix ellcsr_over(int64 rows, int64 cols, Array head, Array rest, Array indptr, int64 stored, Array values);

// ---- Each device's own -----------------------------------------------------------------------------
Matrix ellcsr_from_rows(const Matrix& csr, int64 width, Leading leading);
Matrix rows_from_ellcsr(const Matrix& a);  // as csr
// outside, order: of the leading columns, and of the first one of the rest, told at their place in the values.
Fault fault_in_ellcsr(const EllCsr<float>& a);

}  // namespace diagsparse
