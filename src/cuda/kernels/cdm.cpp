// The kernels of cdm on the GPU, the default first.
#include "formats/cdm.hpp"

#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() {
  return {{matvec_row()}, {matmul_row(), matmul_band(), matmul_group(), matmul_tiled(), matmul_entry()}};
}
static const RegisterKernels registered("cdm", 0, make);

}  // namespace diagsparse::cuda
