// The kernel of csc on the CPU, for csr's transpose as well.
#include "formats/csc.hpp"

#include <algorithm>

#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kColumnsUnasked = 1 << 16;  // columns of a task between two questions whether to go on

// Kernel "column" of y = alpha op(A) x + beta y.
// op = N: column j of A is added, scaled by x[j], into the rows that this task owns. Every task finds its stretch of
//         each column by bisection, so nothing is shared and each y[i] sums in the order of j.
// op = T: the rows of the transpose, by csr's kernel.
template <class U, class V>
struct CscMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) {
      static const MatvecKernel by_rows = kernels("csr").matvec.front().typed(dtype_of<U>(), dtype_of<V>());
      return by_rows(transposed_csr(m), {false, op.conjugated}, alpha, x, beta, y);
    }
    const Csc<U> a = Csc<U>::of(m);
    // The common case, neighbouring elements, no conjugate and no factor, as a loop of its own.
    const bool plain = x.row_stride == 1 && y.row_stride == 1 && !op.conjugated && alpha == 1.0;
    if (plain) scatter<true>(a, false, alpha, x, beta, y);
    else scatter<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <bool Plain>
  static void scatter(const Csc<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 nnz = a.indptr[a.cols], x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 tasks = nnz * x.cols < kSerialWork ? 1 : concurrent_tasks();
    const Factor<T> scale(alpha);
    const Update<T> update(0.0, beta);
    parallel_for(tasks, nnz * x.cols, [&](int64 task) {
      const int64 low = a.rows * task / tasks, high = a.rows * (task + 1) / tasks;
      const Csc<U> m = a;
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        for (int64 i = low; i < high; ++i) update.one(out + i * y_step, T{});
        for (int64 begin = 0; begin < m.cols; begin += kColumnsUnasked) {
          if (begin > 0) checkpoint();
          for (int64 j = begin, stop = std::min(m.cols, begin + kColumnsUnasked); j < stop; ++j) {
            const V factor = in[j * x_step];
            const std::int32_t *i = m.indices + m.indptr[j], *end = m.indices + m.indptr[j + 1];
            if (low > 0) i = std::lower_bound(i, end, low);
            if (high < m.rows) end = std::lower_bound(i, end, high);
            const U* value = m.values + (i - m.indices);
            if constexpr (Plain) {
              for (; i < end; ++i, ++value) out[*i] += multiply(*value, factor);
            } else {
              for (; i < end; ++i, ++value) out[*i * y_step] += scale * multiply(conjugate_if(conj, *value), factor);
            }
          }
        }
      }
    });
  }
};

FormatKernels make() { return {{{"column", every_pair<CscMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("csc", kEverySet, make);

}  // namespace

}  // namespace diagsparse
