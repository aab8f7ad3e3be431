// Element by element: sums and products of matrices, factors, and single diagonals.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// factor * op(matrix)
struct EntryTerm {
  const Matrix* matrix;
  Op op;
  Scalar factor;
};

// std::logic_error unless op(a) has this shape; Python has compared them in the user's words.
void require_shape(const Matrix& a, Op op, int64 rows, int64 cols, const char* who);

// What becomes of the entries at one place. Without `zeros`, results that are 0 are not stored.
enum class Merge {
  sum,     // added; those that one term stores stay as they are
  product  // of two terms, multiplied; what only one stores is 0, or no number where it is infinite or none itself
};
// The merge of one or two matrices of csr, csc and coo, in any of these formats. Each device's own.
Matrix merged(const std::string& format, int64 rows, int64 cols, const std::vector<EntryTerm>& terms, Merge how,
              bool zeros, DType dtype);

// alpha op(A) + beta op(B) on the diagonals that one of them stores. Neither is packed.
Matrix added_diagonals(Scalar alpha, const Matrix& a, Op op_a, Scalar beta, const Matrix& b, Op op_b,
                       const std::string& format, DType dtype);

// alpha a + beta b of two value arrays of one type and shape. Each device's own.
Array weighted_sum(Scalar alpha, const Array& a, Scalar beta, const Array& b);

// A matrix with the structure of `a` (not packed) and its values, conjugated or not, times dense[i, j]; all of one
// type. Each device's own.
Matrix scaled_by(const Matrix& a, bool conjugated, const Dense& dense);

// Diagonal k of op(a), 0 where nothing is stored. Where it lies in the matrix as it is, `shared` says whether it may
// share the values.
Array diagonal(const Matrix& a, Op op, int64 k, bool shared);
Array entries_on_diagonal(const Matrix& a, Op op, int64 k);  // of csr, csc and coo; each device's own

}  // namespace diagsparse
