// The kernels of the diagonal family on the GPU; each format's table names the ones it offers.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda {

// y = alpha op(A) x + beta y: a thread takes rows of A.
MatvecRow matvec_row();

// C = alpha op(A) op(B) + beta C
MatmulRow matmul_row();           // a thread takes rows of a diagonal of C
MatmulRow matmul_group();         // scattered diagonals: a block takes neighbouring diagonals of C
MatmulRow matmul_band();          // bands of one type, on the matrix units; anything else goes to "row"
MatmulRow matmul_tiled();         // Algorithm 1 of Haque, Parvez and Hossain (2024); cdm only
MatmulRow matmul_atomic();        // its Algorithm 2
MatmulRow matmul_atomic_split();  // the remedy for divergence that it suggests
MatmulRow matmul_entry();         // its first approach

// The sum of a recurrence in op(A): a block takes rows and several steps at once.
ChainRow chain_blocked();

}  // namespace diagsparse::cuda
