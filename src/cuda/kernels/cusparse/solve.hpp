// Solutions of systems with narrow bands by cuSPARSE. Factors are not cached: every call starts from the diagonals.
#pragma once

#include <array>

#include "core/array.hpp"

namespace diagsparse::cuda::cusparse {

// Overwrites the columns x, which are stored one after the other, with A^-1 x. Uses partial pivoting inside the
// diagonals (gtsv2). The diagonals have an element for each row: the first of `lower` and the last of `upper` are 0. At
// least three rows.
void solve_tridiagonal(const Array& lower, const Array& main, const Array& upper, const Dense& x);

// Solves as many systems as x has columns, with offsets -2 to 2, by QR (gpsvInterleavedBatch). The systems are
// interleaved: row i of each array holds the elements of row i of all systems.
void solve_pentadiagonal(const std::array<Array, 5>& diagonals, const Dense& x);

}  // namespace diagsparse::cuda::cusparse
