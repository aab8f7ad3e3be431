// The kernels of hm on the GPU.
#include "kernels/diagonals/kernels.hpp"

#include "formats/hm/layout.hpp"
#include "kernels/choice.hpp"

namespace diagsparse::cuda::hm {

static FormatKernels make() {
  return {{matvec::row()},
          {matmul::row(), band::matmul(), band::bands(), dense_tiles::matmul(), matmul::block(), matmul::staged(),
           matmul::atomic(), matmul::atomic_split(), matmul::entry()},
          {chain::blocked(), chain_steps()},
          choose_matmul};
}
static const RegisterKernels registered("hm", 0, make);

}  // namespace diagsparse::cuda::hm
