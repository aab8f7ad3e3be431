// The kernels of coosc on the CPU.
#include "formats/coosc/layout.hpp"
#include "formats/coosr/lines_and_pairs.hpp"

namespace diagsparse {

static FormatKernels kernel_table() { return kernels_on_lines_and_pairs("column"); }
static const RegisterKernels registered("coosc", kEverySet, kernel_table);

}  // namespace diagsparse
