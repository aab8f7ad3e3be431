// The kernel of hyb on the CPU.
#include "core/several.hpp"
#include "formats/hyb/layout.hpp"

namespace diagsparse {

static const RegisterKernels registered("hyb", kEverySet, children_kernels);

}  // namespace diagsparse
