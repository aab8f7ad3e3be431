// Validation of every matrix that Python builds from component arrays, whoever supplied them. Kernels do not check
// again.
#pragma once

#include "core/format.hpp"

namespace diagsparse {

// Throws std::invalid_argument unless the matrix is valid in its format: types, dimensions and sizes of all component
// arrays, indices in range and in order, and a real main diagonal for Hermitian storage.
void check_matrix(const Matrix& m);
// Checks types and sizes only, for new values on the structure of a valid matrix.
void check_values(const Matrix& m, Shape expected);
void check_main_diagonal(const Matrix& m);
// Checks a batch, which has a row of values for each member.
void check_members(const Matrix& all);

Op op_from(int bits);  // 1: transposed, 2: conjugated
Packing packing_from(int symmetry, int64 period);
void check_shape(const char* format, int64 rows, int64 cols);
void check_shape(const Format& format, int64 rows, int64 cols);  // also below the format's limit

// ---- For the check functions of the formats ---------------------------------------------------------
// Checks that the index arrays of these names have these types and sizes.
struct ExpectedPart {
  const char* name;
  DType dtype;
  Shape shape;
};
void check_parts(const Matrix& m, const std::vector<ExpectedPart>& expected);

// An error in index arrays and the position of the element.
struct Fault {
  enum Kind { none, pointers, outside, order } kind = none;
  int64 at = 0;
};
// Checks that indptr (lines + 1) does not decrease from 0 to the number of indices, and that the indices are in [0,
// extent) and ascend within each line. `order` is reported only if everything else is valid. Implemented by each
// backend.
Fault fault_in_lines(const Array& indptr, const Array& indices, int64 lines, int64 extent);
// Checks that all (row, col) are in the matrix; `order`: they are not sorted by rows.
Fault fault_in_pairs(const Array& row, const Array& col, int64 rows, int64 cols);
// Whether values[first : first + count] are real. Implemented by each backend.
bool all_real(const Array& values, int64 first, int64 count);

// Adds to `expected` an array of this name with the bases of indices of this type and shape (core/columns.hpp), if
// columns up to `cols` need them; throws if the matrix lacks bases that it needs, or has superfluous ones.
void check_bases(const Matrix& m, const char* name, DType type, Shape indices, int64 cols,
                 std::vector<ExpectedPart>& expected);

// Throws if the arrays of compressed rows or columns are invalid, using these names for the arrays; returns whether the
// indices are in order.
bool check_lines(const std::string& who, const Array& indptr, const Array& indices, int64 lines, int64 extent,
                 const char* indptr_name = "indptr", const char* indices_name = "indices");

}  // namespace diagsparse
