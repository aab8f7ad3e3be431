// pell on the GPU: the kernel "row".
#include "formats/pell/layout.hpp"
#include "kernels/interleaved/multiply_rows.cuh"
#include "kernels/rows/kernels.hpp"
#include "layouts/rows.cuh"

namespace diagsparse {

namespace cuda::pell {

namespace {

template <class U, class V>
struct Row {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    const Pell<U> a = Pell<U>::of(m);
    multiply_all_rows<U, V>("pell matvec", m, a, a.width, op, alpha, x, beta, y);
  }
};

FormatKernels make() { return {{{"row", every_pair<Row, MatvecKernel>(), rows::prepare_transpose}}, {}}; }
const RegisterKernels registered("pell", 0, make);

}  // namespace

}  // namespace cuda::pell

template struct StoredRows<Pell>;

}  // namespace diagsparse
