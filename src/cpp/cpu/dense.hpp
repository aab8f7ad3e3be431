// Matrices added to dense arrays, on the CPU alone.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// to (+)= alpha op(a) where a stores values; the rest of `to` stays. Of diagonals (not packed), csr, csc and coo.
void add_to_dense(Scalar alpha, const Matrix& a, Op op, const Dense& to, bool accumulate);

}  // namespace diagsparse
