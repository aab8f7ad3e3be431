// The correction of tridiagonal solutions for two corner elements, as in cyclic matrices.
#pragma once

#include <array>

#include "core/array.hpp"

namespace diagsparse::cuda::tridiagonal {

// x(:, j) -= y m (x(0, j), x(n - 1, j)) for each column j; y: n x 2, m: 2 x 2 by rows. Columns are contiguous.
void correct_for_corners(const Dense& y, const std::array<Scalar, 4>& m, const Dense& x);

}  // namespace diagsparse::cuda::tridiagonal
