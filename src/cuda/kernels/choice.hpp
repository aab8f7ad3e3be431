// Selects the kernel for a product of diagonals if the caller does not name one.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

// The name of the kernel for this product, with values of types a and b.
const char* choose_matmul(const Plan& plan, DType a, DType b);

}  // namespace diagsparse::cuda
