// The kernels of mdia on the CPU.
#include "formats/mdia/layout.hpp"
#include "formats/mdia/simd_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

FormatKernels make() { return {{{"block", masked_matvec()}}, {{"block", masked_matmul()}}}; }
const RegisterKernels registered("mdia", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
