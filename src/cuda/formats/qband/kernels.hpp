// The kernels of qband on the GPU; qband.cpp has the table.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda::qband {

// y = alpha op(A) x + beta y: a thread takes rows of A, their bands and what lies beside them.
MatvecRow row();

// C = alpha op(A) op(B) + beta C
MatmulRow terms();     // the bands as diagonals; of the rest a thread takes an entry of C, whose terms the plan lists
MatmulRow segments();  // Algorithm 3 of Vooturi and Kothapalli (2016) and its mirror

}  // namespace diagsparse::cuda::qband
