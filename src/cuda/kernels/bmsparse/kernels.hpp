// The kernels of bmsparse on the GPU; ../bmsparse.cpp lists them.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::bitmaps {

MatvecRow by_rows();       // "row": groups of eight threads take rows of blocks
MatmulRow by_fragments();  // "fragments": a warp takes a block of C, on the FP64 matrix units

}  // namespace diagsparse::cuda::bitmaps
