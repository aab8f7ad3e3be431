// The kernels of csc on the GPU, the default first.
#include "kernels/rows/kernels.hpp"

#include "formats/csc/layout.hpp"

namespace diagsparse::cuda::csc {

static FormatKernels make() {
  using namespace rows;
  return {{gather_by_stream(), gather_by_threads(), gather_by_warp(), scatter_entries(), cusparse::matvec()}, {}};
}
static const RegisterKernels registered("csc", 0, make);

}  // namespace diagsparse::cuda::csc
