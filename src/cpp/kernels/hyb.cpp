// The kernel of hyb on the CPU.
#include "formats/hyb.hpp"

#include "core/several.hpp"

namespace diagsparse {

static const RegisterKernels registered("hyb", kEverySet, children_in_turn);

}  // namespace diagsparse
