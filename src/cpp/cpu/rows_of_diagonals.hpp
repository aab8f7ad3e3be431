// Some rows of a matrix of diagonals.
#pragma once

#include <span>

#include "core/matrix.hpp"

namespace diagsparse {

// The rows of op(a) with these numbers, in this order, as csr without zeros. `a` is not packed.
Matrix rows_of_diagonals(const Matrix& a, Op op, std::span<const int64> numbers);

}  // namespace diagsparse
