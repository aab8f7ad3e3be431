// Sampled products of csr and csc: C[i, j] = sum over p of X[i, p] Y[j, p] for each entry (i, j) of C.
//
//   C: m x n.  X: m x p.  Y: n x p.  Minimum traffic in bytes: X + Y + C, once each; rows of Y may be read again.
//
// A thread processes rows of C (columns of csc) with equal work.
#include "cpu/parallel.hpp"
#include "formats/csr/layout.hpp"
#include "kernels/simd/sampled_rows.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Writes the entries of `lines` rows of csr; for csc, X and Y are exchanged.
template <class T>
void write_lines(const DenseRows<T> x, const DenseRows<T> y, int64 lines, Matrix& c) {
  const int64* const indptr = c.index("indptr").as<int64>();
  const auto* const indices = c.index("indices").as<std::int32_t>();
  T* const values = c.values.as<T>();
  const int64 work = indptr[lines] + lines, tasks = tasks_for(work);
  const auto before = [&](int64 i) { return indptr[i] + i; };
  parallel_for(tasks, work * std::max<int64>(1, x.length), [&](int64 task) {
    const int64 first = border(lines, work, tasks, task, before), last = border(lines, work, tasks, task + 1, before);
    for (int64 i = first; i < last; ++i) {
      const T* const row = x[i];
      if (x.length == 1) {
        for (int64 e = indptr[i]; e < indptr[i + 1]; ++e) values[e] = product(*row, *y[indices[e]]);
      } else {
        for (int64 e = indptr[i]; e < indptr[i + 1]; ++e) values[e] = row_product(row, y[indices[e]], x.length);
      }
    }
  });
}

template <class T, class>
struct SampledCsr {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    write_lines<T>(DenseRows<T>(x), DenseRows<T>(y), c.rows, c);
  }
};
template <class T, class>
struct SampledCsc {
  static void run(const Dense& x, const Dense& y, Matrix& c) {
    write_lines<T>(DenseRows<T>(y), DenseRows<T>(x), c.cols, c);
  }
};

const RegisterSampled csr("csr", kIsa, &one_type<SampledCsr, SampledKernel>),
    csc("csc", kIsa, &one_type<SampledCsc, SampledKernel>);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
