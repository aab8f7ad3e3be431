// The kernel of hyb on the GPU.
#include "core/several.hpp"
#include "formats/hyb/layout.hpp"

namespace diagsparse::cuda::hyb {

static const RegisterKernels registered("hyb", 0, children_kernels);

}  // namespace diagsparse::cuda::hyb
