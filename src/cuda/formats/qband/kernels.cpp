// The kernels of qband on the GPU, the default first.
#include "formats/qband/kernels.hpp"

#include "formats/qband/layout.hpp"

namespace diagsparse::cuda {

static FormatKernels make() { return {{qband::row()}, {qband::terms(), qband::segments()}}; }
static const RegisterKernels registered("qband", 0, make);

}  // namespace diagsparse::cuda
