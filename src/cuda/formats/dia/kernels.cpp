// The kernels of dia on the GPU.
#include "kernels/diagonals/kernels.hpp"

#include "formats/dia/layout.hpp"
#include "kernels/choice.hpp"

namespace diagsparse::cuda::dia {

static FormatKernels make() {
  return {{matvec::row()},
          {matmul::row(), band::matmul(), band::bands(), dense_tiles::matmul(), matmul::block(), matmul::staged(),
           matmul::entry()},
          {chain::blocked(), chain_steps()},
          choose_matmul};
}
static const RegisterKernels registered("dia", 0, make);

}  // namespace diagsparse::cuda::dia
