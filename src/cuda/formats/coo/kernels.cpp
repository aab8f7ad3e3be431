// The kernels of coo on the GPU, the default first.
#include "kernels/rows/kernels.hpp"

#include "formats/coo/layout.hpp"

namespace diagsparse::cuda::coo {

static FormatKernels make() {
  using namespace rows;
  return {{gather_by_stream(), gather_by_threads(), gather_by_warp(), scatter_entries(), cusparse::matvec()}, {}};
}
static const RegisterKernels registered("coo", 0, make);

}  // namespace diagsparse::cuda::coo
