// Validation: every matrix that Python makes of parts passes it, whoever gave them. Kernels never look again.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

// std::invalid_argument unless the matrix is what its format says: types, dimensions and sizes of all parts, indices in
// range and in order, a real main diagonal where the storage is Hermitian.
void check_matrix(const Matrix& m);
// The same of types and sizes alone, for new values on the structure of a matrix that has passed.
void check_values(const Matrix& m, Shape expected);
void check_main_diagonal(const Matrix& m);
// Of a batch: a row of values for each member.
void check_members(const Matrix& all);

Op op_from(int bits);  // 1: transposed, 2: conjugated
Packing packing_from(int symmetry, int64 period);
void check_shape(const char* format, int64 rows, int64 cols);
void check_shape(const Format& format, int64 rows, int64 cols);  // those that it can name

// ---- What the formats' own checks are made of ------------------------------------------------------
// The index arrays under these names, of these types and sizes, and values for each of `count` entries.
struct ExpectedPart {
  const char* name;
  DType dtype;
  Shape shape;
};
void check_parts(const Matrix& m, const std::vector<ExpectedPart>& expected);

// What is wrong with index arrays, and at which element.
struct Fault {
  enum Kind { none, pointers, outside, order } kind = none;
  int64 at = 0;
};
// indptr (lines + 1) rises from 0 to the count of indices; these lie in [0, extent) and rise in each line. `order` is
// told only where all else is right. Each device's own.
Fault fault_in_lines(const Array& indptr, const Array& indices, int64 lines, int64 extent);
// (row, col) lie in the matrix; `order`: they do not rise row by row.
Fault fault_in_pairs(const Array& row, const Array& col, int64 rows, int64 cols);
// Whether values[first : first + count] are real numbers. Each device's own.
bool all_real(const Array& values, int64 first, int64 count);

// Expects an array of this name with the bases of indices that have this type and shape (core/columns.hpp) where
// columns up to `cols` need them; throws where the matrix has them for nothing.
void check_bases(const Matrix& m, const char* name, DType type, Shape indices, int64 cols,
                 std::vector<ExpectedPart>& expected);

// Throws for compressed lines that are not right, and calls their arrays by these names; returns whether they are in
// order.
bool check_lines(const std::string& who, const Array& indptr, const Array& indices, int64 lines, int64 extent,
                 const char* indptr_name = "indptr", const char* indices_name = "indices");

}  // namespace diagsparse
