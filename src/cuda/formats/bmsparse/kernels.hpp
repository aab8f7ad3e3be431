// The kernels of bmsparse on the GPU; ../bmsparse.cpp lists them.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::bmsparse {

MatvecRow by_rows();                    // "row": half warps, or groups of eight threads, take rows of blocks
const Typed<MatvecKernel>& by_tiles();  // what it does with several columns
MatvecRow by_base();                    // those of the thesis
MatvecRow by_batch();

MatmulRow by_fragments();  // "fragments": a warp takes a block of C, on the FP64 matrix units
MatmulRow by_tf32();       // "tf32": the same of float32, rounded to TF32
MatmulRow by_fp16();       // "fp16", "bf16": of float32, rounded to 16 bits, two blocks of C a warp
MatmulRow by_bf16();

// Those of the thesis; tasks.cu has the lists that they are planned with.
MatmulRow by_cuda_cores(const char* name);
MatmulRow by_tc_naive();
MatmulRow by_tc_2blk();
MatmulRow by_tc_2tsk();

}  // namespace diagsparse::cuda::bmsparse
