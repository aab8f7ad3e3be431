// The kernels of cdm on the GPU.
#include "formats/cdm.hpp"

#include "kernels/choice.hpp"
#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() {
  return {{matvec_row()},
          {matmul_row(), matmul_band(), matmul_group(), matmul_tiled(), matmul_entry()},
          {chain_blocked(), chain_steps()},
          choose_matmul};
}
static const RegisterKernels registered("cdm", 0, make);

}  // namespace diagsparse::cuda
