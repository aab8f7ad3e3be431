// The kernels of coosc on the GPU.
#include "formats/coosc.hpp"

#include "formats/sorted_coo.hpp"
#include "kernels/row_kernels.hpp"

namespace diagsparse::cuda {

static FormatKernels make() { return kernels_on_lines_and_pairs(rows::gather_by_stream().name.c_str()); }
static const RegisterKernels registered("coosc", 0, make);

}  // namespace diagsparse::cuda
