// Which kernel multiplies diagonals when the caller names none.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

// The name of the kernel for this product of matrices with values of types a and b.
const char* choose_matmul(const Plan& plan, DType a, DType b);

}  // namespace diagsparse::cuda
