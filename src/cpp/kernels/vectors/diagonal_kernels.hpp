// The kernels that dia, hm and cdm share; each format's table names the ones it offers.
#pragma once

#include "core/plan.hpp"
#include "kernels/sequential.hpp"
#include "kernels/vectors/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// y = alpha op(A) x + beta y
Typed<MatvecKernel> matvec_row_tiles();

// C = alpha op(A) op(B) + beta C
Typed<MatmulKernel> matmul_row_tiles();

// The sum of a recurrence in op(A)
Typed<ChainKernel> chain_blocked();

}  // namespace diagsparse::DIAGSPARSE_ISA
