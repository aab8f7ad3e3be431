// The kernels "sequential" of dia, hm and cdm.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse {

Typed<MatvecKernel> matvec_sequential();
Typed<MatmulKernel> matmul_sequential();

}  // namespace diagsparse
