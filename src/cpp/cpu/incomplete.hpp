// Incomplete factorizations on the CPU: factors that have elements only where the matrix stores some. All other
// elements that elimination would create are dropped.
//
// With diagonals, these are all elements of the stored diagonals, zeros included.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse::incomplete {

// Overwrites A with L and U: below the main diagonal L, whose main diagonal is 1, and U. Returns the first row whose
// pivot is zero or not finite, or -1.
int64 factor_lu(Matrix& a);

// Overwrites the lower triangle of a Hermitian matrix with L, where A is about L L^H; there are no other elements.
// Returns the first row whose pivot is not positive, or -1.
int64 factor_cholesky(Matrix& a);

}  // namespace diagsparse::incomplete
