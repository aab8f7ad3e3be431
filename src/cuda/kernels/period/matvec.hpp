// What kernel "row" runs for matrices whose layout has a period.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda::period {

void matvec(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y);

}  // namespace diagsparse::cuda::period
