// The kernels of csc on the CPU: those of csr on the transpose.
#include "formats/csc.hpp"

#include "core/kernel_table.hpp"

namespace diagsparse {

namespace {

template <class U, class V>
struct CscMatvec {
  static void run(const Matrix& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    static const MatvecKernel rows = kernels("csr").matvec.front().typed(dtype_of<U>(), dtype_of<V>());
    rows(transposed_csr(a), {!op.transposed, op.conjugated}, alpha, x, beta, y);
  }
};

FormatKernels make() { return {{{"column", every_pair<CscMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csc", kEverySet, make);

}  // namespace

}  // namespace diagsparse
