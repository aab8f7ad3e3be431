// The way into every product with a dense operand.
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
// alpha multiplies a whole sum, and the sum of a row without entries is 0: an infinite or undefined alpha gives the
// same with every kernel, those that scale every term among them. beta = 0 means that y is not read.
// std::invalid_argument, with nothing written, for operands that do not fit, and for a y that is part of A.
void matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y,
            const std::string& kernel);

// y = the sum of a recurrence in op(A) that begins with x, under the same conditions.
void chain(const Matrix& a, Op op, const Recurrence& r, const Dense& x, const Dense& y, const std::string& kernel);

// Throws unless y = op(A) x makes sense; `who` names the operation.
void check_operands(const Matrix& a, Op op, const Dense& x, const Dense& y, const char* who);

// C = alpha S + beta C for arrays of one type and size, where S is the sum that a kernel made with alpha = 1.
void add_scaled(Scalar alpha, const Array& sum, Scalar beta, Array& c);
// Whether a factor is finite in the type that it is applied in.
inline bool finite(Scalar s, DType type) {
  const bool single = type == DType::f32 || type == DType::c64;
  const double most = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  return std::abs(s.real()) <= most && std::abs(s.imag()) <= most;
}

}  // namespace diagsparse
