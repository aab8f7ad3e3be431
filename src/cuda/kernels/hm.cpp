// The kernels of hm on the GPU.
#include "formats/hm.hpp"

#include "kernels/choice.hpp"
#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() {
  return {{matvec_row()},
          {matmul_row(), matmul_band(), matmul_group(), matmul_atomic(), matmul_atomic_split(), matmul_entry()},
          {chain_blocked(), chain_steps()},
          choose_matmul};
}
static const RegisterKernels registered("hm", 0, make);

}  // namespace diagsparse::cuda
