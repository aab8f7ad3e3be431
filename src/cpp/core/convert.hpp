// Between layouts: copies of diagonals, csr -> diagonals, diagonals -> csr. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// values of `to` (+)= alpha op(from) on the diagonals that both store; the rest of `to` stays.
// The one routine behind copies of views, conversions inside the family, astype, and A + B.
void add_diagonals(Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate);

// The offsets on which a csr matrix has entries, ascending.
std::vector<int64> occupied_diagonals(const Matrix& csr);

Matrix diagonals_from_csr(const Matrix& csr, const DiagonalFormat& format, const std::vector<int64>& offsets);
// Stored zeros are dropped: padding and explicit zeros look alike in a diagonal format.
Matrix csr_from_diagonals(const Matrix& a, Op op);

}  // namespace diagsparse
