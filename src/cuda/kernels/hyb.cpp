// The kernel of hyb on the GPU.
#include "formats/hyb.hpp"

#include "core/several.hpp"

namespace diagsparse::cuda {

static const RegisterKernels registered("hyb", 0, children_in_turn);

}  // namespace diagsparse::cuda
