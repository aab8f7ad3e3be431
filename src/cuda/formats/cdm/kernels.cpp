// The kernels of cdm on the GPU.
#include "kernels/diagonals/kernels.hpp"

#include "formats/cdm/layout.hpp"
#include "kernels/choice.hpp"

namespace diagsparse::cuda::cdm {

static FormatKernels make() {
  return {{matvec::row()},
          {matmul::row(), band::matmul(), dense_tiles::matmul(), matmul::block(), matmul::staged(), matmul::tiled(),
           matmul::entry()},
          {chain::blocked(), chain_steps()},
          choose_matmul};
}
static const RegisterKernels registered("cdm", 0, make);

}  // namespace diagsparse::cuda::cdm
