// The kernels of mdia on the GPU.
#include "core/kernel_table.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse::cuda::mdia {

MatvecRow by_blocks();
ChainRow fused_steps();
MatmulRow products_by_blocks();

static FormatKernels make() { return {{by_blocks()}, {products_by_blocks()}, {fused_steps(), chain_steps()}}; }
static const RegisterKernels registered("mdia", 0, make);

}  // namespace diagsparse::cuda::mdia
