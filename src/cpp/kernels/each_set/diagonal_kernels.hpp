// The kernels that dia, hm and cdm share; each format's table names the ones it offers.
#pragma once

#include "core/plan.hpp"
#include "kernels/each_set/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// y = alpha op(A) x + beta y
Typed<MatvecKernel> matvec_row_tiles();
Typed<MatvecKernel> matvec_sequential();

// C = alpha op(A) op(B) + beta C
Typed<MatmulKernel> matmul_row_tiles();
Typed<MatmulKernel> matmul_sequential();

// The sum of a recurrence in op(A)
Typed<ChainKernel> chain_blocked();

}  // namespace diagsparse::DIAGSPARSE_ISA
