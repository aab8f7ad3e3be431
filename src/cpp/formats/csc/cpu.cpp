// The kernel of csc on the CPU, which also computes transposed products of csr.
#include "formats/csc/layout.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // columns between two calls of checkpoint()

// Kernel "column" of y = alpha op(A) x + beta y.
// op = N: kernels/scatter.hpp, column by column.
// op = T: the rows of the transpose, with the kernel of csr.
template <class U, class V>
struct CscMatvec {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) {
      static const MatvecKernel by_rows = kernels("csr").matvec.front().typed(dtype_of<U>(), dtype_of<V>());
      return by_rows(transposed_csr(m), {false, op.conjugated}, alpha, x, beta, y);
    }
    const Csc<U> a = Csc<U>::of(m);
    const int64 work = a.indptr[a.cols] + a.cols;
    const auto range_begin = [&](int64 ranges, int64 k) {
      return border(a.cols, work, ranges, k, [&](int64 j) { return a.indptr[j] + j; });
    };
    const auto traverse = [&](int64 begin, int64 end, const auto& visit) {
      for (int64 j = begin; j < end; ++j) {
        if ((j - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
        const auto add = visit(j);
        for (int64 e = a.indptr[j], stop = a.indptr[j + 1]; e < stop; ++e) add(a.indices[e], a.values[e]);
      }
    };
    scatter<U, V>(m, op.conjugated, alpha, x, beta, y, range_begin, traverse);
  }
};

FormatKernels kernel_table() { return {{{"column", every_pair<CscMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csc", kEverySet, kernel_table);

}  // namespace

}  // namespace diagsparse
