// Layouts that store the entries of a row at a constant stride: ell, sell, jds. What such a format needs apart from the
// description of its layout is written once per backend: layouts/cpu_rows.hpp, and layouts/rows.cuh for GPUs.
//
// The description is a view Layout<T, I> with values T and column indices I (here always 32 bits). It has
//   rows, cols                  of the matrix
//   stored_rows()               number of stored rows; those from `rows` on are padding
//   stored_row(p)               the positions of the entries of stored row p
//   column(e)                   the column at position e, negative in the padding at the end of a row
//   kLeastColumn                -1 if there may be padding, otherwise 0
//   row_order, row_lengths      arrays of `rows` elements, or null
//   follows(p)                  whether stored row p may follow the previous one
//   of(m), over(structure, values)
#pragma once

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

// The positions begin, begin + step, ... before `end` belong to row `row` of the matrix, or to no row if it is
// negative.
struct StoredRow {
  int64 row, begin, end, step;
};

template <template <class T, class I> class Layout>
struct StoredRows {
  static Matrix to_csr(const Matrix& m);
  // Writes the entries of a csr matrix to the positions of `to`, as many of each row as fit, -1 and 0 to the padding,
  // and the row lengths if the layout stores them.
  static void fill(const Matrix& csr, const Matrix& to);
  // outside: row_order[at] is not a row. order: the row occurs before, or must not follow the previous one.
  static Fault fault_in_row_order(const Structure& structure);
  // pointers: row_lengths[at] is not the number of entries. outside, order: the column at position `at` is not in the
  // matrix, or is not greater than the previous one in its row.
  static Fault fault_in_entries(const Structure& structure);
};

// The rows of a csr matrix sorted by descending length, stably, within windows of `window` rows: int32 (m). Implemented
// by each backend.
Array rows_by_length(const Matrix& csr, int64 window);

}  // namespace diagsparse
