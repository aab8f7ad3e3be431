// The kernels of csr on the CPU.
#include "formats/csr.hpp"

#include <vector>

#include "kernels/csr_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row" of C = alpha A B + beta C (Gustavson): row i of C is the sum of A[i, k] times row k of B, gathered
// in a dense accumulator and read out at C's planned columns. A thread takes blocks of rows. A value's terms are
// summed in the order of k: the same bits for any number of threads.
template <class U, class V>
struct CsrMatmul {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    const Csr<U> a = Csr<U>::of(left);
    const Csr<V> b = Csr<V>::of(right);
    const int64* indptr = plan.indptr.as<int64>();
    const std::int32_t* indices = plan.indices.as<std::int32_t>();
    const Update<T> update(alpha, beta);
    const int64 tasks = std::min<int64>(a.rows, 16 * concurrent_tasks());
    parallel_for(tasks, indptr[a.rows] * 8, [&](int64 task) {
      std::vector<T> row(b.cols);
      for (int64 i = a.rows * task / tasks; i < a.rows * (task + 1) / tasks; ++i) {
        for (int64 e = indptr[i]; e < indptr[i + 1]; ++e) row[indices[e]] = T{};
        for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
          const int64 k = a.indices[e];
          for (int64 f = b.indptr[k]; f < b.indptr[k + 1]; ++f) row[b.indices[f]] += multiply(a.values[e], b.values[f]);
        }
        for (int64 e = indptr[i]; e < indptr[i + 1]; ++e) update.one(c.values.as<T>() + e, row[indices[e]]);
      }
    });
  }
};

FormatKernels make() {
  return {{{"row", every_pair<CsrMatvec, MatvecKernel>()}}, {{"row", every_pair<CsrMatmul, MatmulKernel>()}}};
}
const RegisterKernels registered("csr", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
