// Elementwise operations: sums and products of matrices, scaling, and single diagonals.
#pragma once

#include <vector>

#include "core/arithmetic.hpp"
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

// How the elements u and v at the same position are combined. Elements that are not stored are 0.
enum class Combine { sum, product, maximum, minimum, not_equal, less };
constexpr bool is_comparison(Combine how) { return how == Combine::not_equal || how == Combine::less; }

// The combined element; 1 or 0 for a comparison. NaN and complex numbers are ordered as in SciPy.
template <class T>
constexpr T combined(Combine how, T u, T v) {
  const T one = convert<T>(Real<T>(1));
  switch (how) {
    case Combine::product: return u * v;
    case Combine::maximum: return less(u, v) ? v : u;
    case Combine::minimum: return less(v, u) ? v : u;
    case Combine::not_equal: return equal(u, v) ? T{} : one;
    case Combine::less: return less(u, v) ? one : T{};
    default: return u + v;
  }
}

// Combines one or two terms of the same shape into a format that supports it. `dtype` can hold the values of both, and
// is the type of the result; the values of a comparison are of type u8, all 1. If `zeros` is false, results that are 0
// are not stored, except in diagonal formats and mdia, which support sums and products only.
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
