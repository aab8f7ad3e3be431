// Elementwise operations: sums and products of matrices, scaling, and single diagonals.
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

// Throws std::logic_error unless op(a) has this shape. Python has already checked it, with an error for the user.
void require_shape(const Matrix& a, Op op, int64 rows, int64 cols, const char* who);

// How the elements at the same position are combined.
enum class Combine {
  sum,     // added; elements stored by only one term are unchanged
  product  // multiplied; if only one of two terms stores it: 0, or NaN if it is infinite or NaN
};
// Combines one or two terms of the same shape into a format that supports it, with values of type `dtype`. If `zeros`
// is false, results that are 0 are not stored, except in diagonal formats and mdia.
Matrix combine(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros, DType dtype);

// ---- For the format tables --------------------------------------------------------------------------
// Combines csr, csc and coo terms into any of these formats. Implemented by each backend.
Matrix combine_entries(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                       DType dtype);
// Combines diagonal terms, which are not packed. The sum stores every diagonal that one of the terms stores, the
// product those that both store.
Matrix combine_diagonals(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                         DType dtype);

// alpha a + beta b of two value arrays of the same type and shape. Implemented by each backend.
Array weighted_sum(Scalar alpha, const Array& a, Scalar beta, const Array& b);

// A matrix with the structure of `a`, which is not packed. Its values are those of `a`, conjugated if requested, times
// dense[i, j]. All have the same type. Implemented by each backend.
Matrix scaled_by(const Matrix& a, bool conjugated, const Dense& dense);

// Diagonal k of op(a), with 0 where nothing is stored. If the matrix stores the diagonal in this form, the result may
// share its memory if `shared` is true.
Array diagonal(const Matrix& a, Op op, int64 k, bool shared);
Array entries_on_diagonal(const Matrix& a, Op op, int64 k);  // for csr, csc and coo; implemented by each backend

}  // namespace diagsparse
