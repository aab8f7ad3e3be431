// What kernel "row" runs for matrices whose layout has a period.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda {

const Typed<MatvecKernel>& matvec_period();
inline MatvecKernel matvec_period(DType a, DType x) { return matvec_period()(a, x); }

}  // namespace diagsparse::cuda
