// Entry points of all products with dense operands.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "core/kernel_table.hpp"
#include "core/matrix.hpp"
#include "core/recurrence.hpp"

namespace diagsparse {

// y = alpha op(A) x + beta y by a kernel of the format's table ("" = the default). x: n x k, y: m x k.
//
// alpha multiplies the complete sum, which is 0 for a row without entries. An infinite or NaN alpha therefore gives the
// same result with every kernel, including those that scale each term. If beta is 0, y is not read. Throws
// std::invalid_argument, with nothing written, if the operands do not fit or y overlaps A.
void matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
            const std::string& kernel);

// y = the sum of a recurrence in op(A) that starts with x, under the same conditions.
void chain(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y, const std::string& kernel);

// Throws unless the shapes and types fit y = op(A) x; `who` names the operation.
void check_operands(const Matrix& a, Op op, const Dense& x, const Dense& y, const char* who);

// C = alpha S + beta C for arrays of the same type and size, where a kernel has computed S with alpha = 1.
void add_scaled(Scalar alpha, const Array& sum, Scalar beta, Array& c);
// Whether a factor is finite in the type in which it is applied.
inline bool finite(Scalar s, DType type) {
  const bool single = type == DType::f32 || type == DType::c64;
  const double most = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return std::abs(s.real()) <= most && std::abs(s.imag()) <= most;
}

}  // namespace diagsparse
