// The kernels of coosr on the CPU.
#include "formats/coosr.hpp"

#include "formats/sorted_coo.hpp"

namespace diagsparse {

static FormatKernels make() { return kernels_on_lines_and_pairs("row"); }
static const RegisterKernels registered("coosr", kEverySet, make);

}  // namespace diagsparse
