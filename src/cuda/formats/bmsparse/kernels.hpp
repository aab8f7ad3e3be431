// The kernels of bmsparse on the GPU; kernels.cpp lists them.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::bmsparse {

MatvecRow by_rows();                    // "row": half warps, or groups of eight threads, process rows of blocks
const Typed<MatvecKernel>& by_tiles();  // used by "row" for several columns
MatvecRow by_base();                    // those of the thesis
MatvecRow by_batch();

MatmulRow by_fragments();  // "fragments": a warp computes a block of C, on the FP64 matrix units
MatmulRow by_tf32();       // "tf32": the same for float32, rounded to TF32
MatmulRow by_fp16();       // "fp16", "bf16": for float32, rounded to 16 bits, two blocks of C per warp
MatmulRow by_bf16();

// Those of the thesis; tasks.cu has the lists with which they are planned.
MatmulRow by_cuda_cores(const char* name);
MatmulRow by_tc_naive();
MatmulRow by_tc_2blk();
MatmulRow by_tc_2tsk();

}  // namespace diagsparse::cuda::bmsparse
