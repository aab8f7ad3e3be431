// What kernel "row" runs for matrices whose layout has a period.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda::period {

MatvecKernel matvec(DType a, DType x);

}  // namespace diagsparse::cuda::period
