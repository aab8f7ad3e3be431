// The kernels of qband on the GPU; kernels.cpp lists them.
#pragma once

#include "core/kernel_table.hpp"

namespace diagsparse::cuda::qband {

// y = alpha op(A) x + beta y: a thread processes rows of A, their bands and their other entries.
MatvecRow row();

// C = alpha op(A) op(B) + beta C
MatmulRow terms();     // the bands as diagonals; for the rest, a thread computes an entry of C, whose terms the plan
                       // lists
MatmulRow segments();  // Algorithm 3 of Vooturi and Kothapalli (2016) and its mirror image

}  // namespace diagsparse::cuda::qband
