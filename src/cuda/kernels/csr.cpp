// The kernels of csr on the GPU, the default first.
#include "formats/csr.hpp"

#include "kernels/row_kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() {
  using namespace rows;
  return {{gather_by_threads(), gather_by_warp(), gather_by_row(), gather_by_one(), cusparse::matvec()},
          {multiply_by_warp(), multiply_by_row(), multiply_by_one(), cusparse::matmul()}};
}
static const RegisterKernels registered("csr", 0, make);

}  // namespace diagsparse::cuda
