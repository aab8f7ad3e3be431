// The kernels of cdm on the CPU, the default first. The loops are shared by the diagonal family.
#include "formats/cdm.hpp"

#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

static const RegisterKernels registered("cdm", kIsa,
                                        {{{"row_tiles", matvec_row_tiles()}, {"sequential", matvec_sequential()}},
                                         {{"row_tiles", matmul_row_tiles()}, {"sequential", matmul_sequential()}}});

}  // namespace diagsparse::DIAGSPARSE_ISA
