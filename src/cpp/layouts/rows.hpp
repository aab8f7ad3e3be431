// Layouts that store the entries of a row at equal steps: ell, sell, jds. What such a format needs besides the
// description of its layout is written once for each device: layouts/cpu_rows.hpp, and layouts/rows.cuh for GPUs.
//
// The description is a view Layout<T, I>, of values T and column indices I (here always of 32 bits), with
//   rows, cols                  of the matrix
//   stored_rows()               how many rows are stored; those from `rows` on are padding
//   stored_row(p)               where the entries of stored row p are
//   column(e)                   the column at position e, negative in the padding at the end of a row
//   row_order, row_lengths      arrays of `rows` elements, or null
//   follows(p)                  whether stored row p may come after the one before it
//   of(m), over(structure, values)
#pragma once

#include "core/format.hpp"
#include "core/validation.hpp"

namespace diagsparse {

// The positions begin, begin + step, ... before `end` belong to row `row` of the matrix; to none if it is negative.
struct StoredRow {
  int64 row, begin, end, step;
};

template <template <class T, class I> class Layout>
struct StoredRows {
  static Matrix to_csr(const Matrix& m);
  // Writes the entries of a csr matrix to the positions of `to`, as many of each row as it has; -1 and 0 to its
  // padding; and the lengths of the rows if it stores them.
  static void fill(const Matrix& csr, const Matrix& to);
  // outside: row_order[at] is no row; order: it is named before, or does not follow the one before it.
  static Fault fault_in_row_order(const Structure& structure);
  // pointers: row_lengths[at] is not the count of entries; outside, order: the column at position `at`, which does not
  // lie in the matrix, or not after the one before it in its row.
  static Fault fault_in_entries(const Structure& structure);
};

// The rows of a csr matrix by descending length, stable, within windows of so many rows. int32 (m). Each device's own.
Array rows_by_length(const Matrix& csr, int64 window);

}  // namespace diagsparse
