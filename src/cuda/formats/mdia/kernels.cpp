// The kernels of mdia on the GPU.
#include "core/kernel_table.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse::cuda {

namespace hollow {
MatvecRow by_blocks();
MatmulRow products_by_blocks();
}  // namespace hollow

static FormatKernels make() { return {{hollow::by_blocks()}, {hollow::products_by_blocks()}}; }
static const RegisterKernels registered("mdia", 0, make);

}  // namespace diagsparse::cuda
