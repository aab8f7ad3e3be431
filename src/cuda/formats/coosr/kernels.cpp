// The kernels of coosr on the GPU.
#include "kernels/rows/kernels.hpp"

#include "formats/coosr/layout.hpp"
#include "formats/coosr/lines_and_pairs.hpp"

namespace diagsparse::cuda::coosr {

static FormatKernels make() { return kernels_on_lines_and_pairs(rows::gather_by_stream().name.c_str()); }
static const RegisterKernels registered("coosr", 0, make);

}  // namespace diagsparse::cuda::coosr
