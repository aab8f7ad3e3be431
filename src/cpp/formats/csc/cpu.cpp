// The kernel of csc on the CPU, which also computes transposed products of csr.
#include "formats/csc/layout.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // columns between two calls of checkpoint()

template <class U>
struct CscEntries {
  Csc<U> a;

  static CscEntries of(const Matrix& m) { return {Csc<U>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const {
    return border(a.cols, a.indptr[a.cols] + a.cols, blocks, k, [&](int64 j) { return a.indptr[j] + j; });
  }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    for (int64 j = begin; j < end; ++j) {
      if ((j - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
      const auto add = visit(j);
      for (int64 e = a.indptr[j], stop = a.indptr[j + 1]; e < stop; ++e) add(a.indices[e], a.values[e]);
    }
  }
};

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
    scatter<V>(CscEntries<U>::of(m), m, op.conjugated, alpha, x, beta, y);
  }
};

FormatKernels kernel_table() { return {{{"column", every_pair<CscMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csc", kEverySet, kernel_table);

}  // namespace

}  // namespace diagsparse
