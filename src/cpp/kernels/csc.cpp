// The kernels of csc on the CPU: those of csr on the transpose.
#include "formats/csc.hpp"

#include "kernels/csr_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

template <class U, class V>
struct CscMatvec {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    CsrMatvec<U, V>::run(transposed_csr(a), {!op.transposed, op.conjugated}, alpha, x, beta, y);
  }
};

FormatKernels make() { return {{{"column", every_pair<CscMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csc", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
