// The kernels of dia, hm and cdm on the CPU, the default first.
#include "kernels/simd/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

static FormatKernels kernel_table() {
  return {{{"row_tiles", matvec_row_tiles()}, {"sequential", matvec_sequential()}},
          {{.name = "row_tiles", .typed = matmul_row_tiles(), .both_orders = true},
           matmul_dense_tiles(),
           {.name = "sequential", .typed = matmul_sequential(), .both_orders = true}},
          {{"blocked", chain_blocked()}, chain_steps()},
          choose_diagonal_matmul};
}
static const RegisterKernels dia("dia", kIsa, kernel_table), hm("hm", kIsa, kernel_table),
    cdm("cdm", kIsa, kernel_table);

}  // namespace diagsparse::DIAGSPARSE_ISA
