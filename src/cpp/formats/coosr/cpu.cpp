// The kernels of coosr on the CPU.
#include "formats/coosr/layout.hpp"
#include "formats/coosr/lines_and_pairs.hpp"

namespace diagsparse {

static FormatKernels kernel_table() { return kernels_on_lines_and_pairs("row"); }
static const RegisterKernels registered("coosr", kEverySet, kernel_table);

}  // namespace diagsparse
