// Solutions of narrow bands by cuSPARSE. It keeps no factors: every call begins with the diagonals.
#pragma once

#include <array>

#include "core/array.hpp"

namespace diagsparse::cuda::cusparse {

// Columns x, one after the other in memory, become A^-1 x, with partial pivoting inside of the diagonals (gtsv2). The
// diagonals have an element for each row: the first of `lower` and the last of `upper` are 0. At least three rows.
void solve_tridiagonal(const Array& lower, const Array& main, const Array& upper, const Dense& x);

// As many systems side by side as x has columns, of offsets -2 to 2, by QR (gpsvInterleavedBatch). Row i of each array
// has the elements of row i of all systems.
void solve_pentadiagonal(const std::array<Array, 5>& diagonals, const Dense& x);

}  // namespace diagsparse::cuda::cusparse
