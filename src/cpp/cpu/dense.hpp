// Adding a matrix to a dense array, on the CPU only.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// to (+)= alpha op(a) where a stores values; the rest of `to` is unchanged. For csr, csc, coo and diagonals (not
// packed).
void add_to_dense(Scalar alpha, const Matrix& a, Op op, const Dense& to, bool accumulate);

}  // namespace diagsparse
