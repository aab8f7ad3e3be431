// The kernels of qband on the GPU, the default first.
#include "formats/qband/kernels.hpp"

#include "formats/qband/layout.hpp"

namespace diagsparse::cuda::qband {

static FormatKernels make() { return {{row()}, {terms(), segments()}}; }
static const RegisterKernels registered("qband", 0, make);

}  // namespace diagsparse::cuda::qband
