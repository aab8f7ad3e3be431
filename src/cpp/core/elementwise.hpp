// Element by element: sums and products of matrices, factors, and single diagonals.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace diagsparse {

struct Format;

// factor * op(matrix)
struct ScaledMatrix {
  const Matrix* matrix;
  Op op;
  Scalar factor;

  int64 rows() const { return op.transposed ? matrix->cols : matrix->rows; }
  int64 cols() const { return op.transposed ? matrix->rows : matrix->cols; }
};

// std::logic_error unless op(a) has this shape; Python has compared them in the user's words.
void require_shape(const Matrix& a, Op op, int64 rows, int64 cols, const char* who);

// What becomes of the elements at one position.
enum class Combine {
  sum,     // added; those that one term stores stay as they are
  product  // of two terms, multiplied; what only one stores is 0, or no number where it is infinite or none itself
};
// One or two terms of one shape, combined in a format whose table says how, with values of this type. Without `zeros`,
// results that are 0 are not stored; diagonals and mdia store them all the same.
Matrix combine(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros, DType dtype);

// ---- For the tables of the formats ------------------------------------------------------------------
// Terms of csr, csc and coo, in any of these formats. Each device's own.
Matrix combine_entries(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                       DType dtype);
// Terms of the diagonal family, which are not packed: the sum on the diagonals that one of them stores, the product on
// those that both store.
Matrix combine_diagonals(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                         DType dtype);

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
