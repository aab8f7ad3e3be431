// ell on the GPU: the kernel "row".
//
// y = alpha op(A) x + beta y.
//   A: m x n, entry w of row i is A[i, indices[w, i]] = values[w, i], both (width, m); -1 where the padding of a row
//   begins; row_lengths (m), or none.  x: n, or n x k.  y: m, or m x k.
//
// A thread processes a row; if rows are few and long, or of different lengths, several threads do
// (kernels/interleaved/multiply_rows.cuh). The kernel is meant for rows of similar lengths. A transpose is gathered by
// rows, with an index of them.
#include "device/c_order.hpp"
#include "formats/ell/layout.hpp"
#include "kernels/interleaved/multiply_rows.cuh"
#include "kernels/rows/kernels.hpp"
#include "layouts/rows.cuh"

namespace diagsparse {

namespace cuda::ell {

namespace {

template <class U, class V>
struct Row {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    if (multiply_in_c_order(run, m, op, alpha, x, beta, y)) return;
    with_index_type(m.index("indices").dtype, [&](auto zero) {
      using I = decltype(zero);
      if constexpr (reads_columns<I, U, V>) {
        const auto a = Ell<U, I>::of(m);
        multiply_all_rows<U, V>("ell matvec", m, a, a.width, op, alpha, x, beta, y);
      } else {
        const auto lengthen = [](const Matrix& a) { return lengthened(a, Lines::rows); };
        run(long_columns(m, lengthen, "indices"), op, alpha, x, beta, y);
      }
    });
  }
};

void prepare(const Matrix& m, Op op) {
  if (op.transposed) rows::prepare_transpose(m, op);
  else prepare_all_rows<Ell>(m, m.index("indices").shape.rows);
}

FormatKernels make() { return {{{"row", every_pair<Row, MatvecKernel>(), prepare}}, {}}; }
const RegisterKernels registered("ell", 0, make);

}  // namespace

}  // namespace cuda::ell

template struct StoredRows<Ell>;

}  // namespace diagsparse
