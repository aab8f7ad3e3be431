// The kernels of csr on the CPU.
#include "formats/csr.hpp"

#include <algorithm>
#include <vector>

#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRowsUnasked = 1 << 16;  // rows of a task between two questions whether to go on

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: a row of A at a time, summed left to right; blocks of rows with equal work on each thread.
// op = T: row i of A is added, scaled by x[i], into the columns that this task owns. Every task finds its
//         stretch of each row by bisection, so nothing is shared and each y[j] sums in the order of i.
template <class U, class V>
struct CsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Csr<U> a = Csr<U>::of(m);
    // The common case, neighbouring elements and no conjugate, as a loop of its own.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) choose<true>(a, op, alpha, x, beta, y);
    else choose<false>(a, op, alpha, x, beta, y);
  }

 private:
  template <bool Plain>
  static void choose(const Csr<U>& a, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) scatter<Plain>(a, op.conjugated, alpha, x, beta, y);
    else gather<Plain>(a, op.conjugated, alpha, x, beta, y);
  }

  template <bool Plain>
  static void gather(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 nnz = a.indptr[a.rows], x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 tasks = std::max<int64>(1, std::min<int64>((nnz + a.rows) / 8192, 1024));
    parallel_for(tasks, (nnz + a.rows) * x.cols, [&](int64 task) {
      const int64 begin = border(a, nnz, tasks, task), end = border(a, nnz, tasks, task + 1);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        for (int64 i = begin, e = a.indptr[begin]; i < end; ++i) {
          T sum{};
          for (const int64 last = a.indptr[i + 1]; e < last; ++e) {
            const U value = Plain ? a.values[e] : conjugate_if(conj, a.values[e]);
            sum += multiply(value, in[a.indices[e] * x_step]);
          }
          update.one(out + i * y_step, sum);
        }
      }
    });
  }

  // The first row of a task: tasks share out nonzeros plus rows evenly.
  static int64 border(const Csr<U>& a, int64 nnz, int64 tasks, int64 task) {
    const int64 share = (nnz + a.rows) / tasks * task;
    if (task == tasks) return a.rows;
    int64 low = 0, high = a.rows;
    while (low < high) {
      const int64 mid = (low + high) / 2;
      if (a.indptr[mid] + mid < share) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  template <bool Plain>
  static void scatter(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 nnz = a.indptr[a.rows], x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 tasks = nnz * x.cols < kSerialWork ? 1 : concurrent_tasks();
    const Factor<T> scale(alpha);
    const Update<T> update(0.0, beta);
    parallel_for(tasks, nnz * x.cols, [&](int64 task) {
      const int64 low = a.cols * task / tasks, high = a.cols * (task + 1) / tasks;
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride;
        for (int64 j = low; j < high; ++j) update.one(out + j * y_step, T{});
        for (int64 i = 0; i < a.rows; ++i) {
          if (i % kRowsUnasked == kRowsUnasked - 1) checkpoint();
          const V factor = x.as<V>()[i * x_step + c * x.col_stride];
          const std::int32_t *j = a.indices + a.indptr[i], *end = a.indices + a.indptr[i + 1];
          if (low > 0) j = std::lower_bound(j, end, low);
          if (high < a.cols) end = std::lower_bound(j, end, high);
          const U* value = a.values + (j - a.indices);
          if (Plain && alpha == 1.0) {
            for (; j < end; ++j, ++value) out[*j] += multiply(*value, factor);
          } else {
            for (; j < end; ++j, ++value) out[*j * y_step] += scale * multiply(conjugate_if(conj, *value), factor);
          }
        }
      }
    });
  }
};

// Kernel "row" of C = alpha A B + beta C (Gustavson): row i of C is the sum of A[i, k] times row k of B, gathered
// in a dense accumulator and read out at C's planned columns. A thread takes blocks of rows. A value's terms are
// summed in the order of k: the same bits for any number of threads.
template <class U, class V>
struct CsrMatmul {
  using T = Product<U, V>;

  static void run(const Plan&, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    const Csr<U> a = Csr<U>::of(left);
    const Csr<V> b = Csr<V>::of(right);
    const int64* indptr = c.index("indptr").as<int64>();
    const std::int32_t* indices = c.index("indices").as<std::int32_t>();
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
const RegisterKernels registered("csr", kEverySet, make);

}  // namespace

}  // namespace diagsparse
