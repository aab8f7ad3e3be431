// Loops over compressed rows, shared by csr (its rows) and csc (the rows of its transpose).
#pragma once

#include <algorithm>

#include "core/parallel.hpp"
#include "formats/csr.hpp"
#include "kernels/diagonal_kernels.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

// y = alpha op(A) x + beta y.
// op = N: a row of A at a time, summed left to right; blocks of rows with equal work on each thread.
// op = T: row i of A is added, scaled by x[i], into the columns that this task owns. Every task finds its
//         stretch of each row by bisection, so nothing is shared and each y[j] sums in the order of i.
template <class U, class V>
struct CsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Csr<U> a = Csr<U>::of(m);
    if (op.transposed) scatter(a, op.conjugated, alpha, x, beta, y);
    else gather(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  static void gather(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 nnz = a.indptr[a.rows];
    const int64 tasks = std::max<int64>(1, std::min<int64>((nnz + a.rows) / 8192, 1024));
    parallel_for(tasks, (nnz + a.rows) * x.cols, [&](int64 task) {
      for (int64 i = border(a, nnz, tasks, task), end = border(a, nnz, tasks, task + 1); i < end; ++i) {
        for (int64 c = 0; c < x.cols; ++c) {
          const V* in = x.as<V>() + c * x.col_stride;
          T sum{};
          for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
            sum += multiply(conjugate_if(conj, a.values[e]), in[a.indices[e] * x.row_stride]);
          }
          update.one(y.as<T>() + i * y.row_stride + c * y.col_stride, sum);
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

  static void scatter(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const int64 nnz = a.indptr[a.rows];
    const int64 tasks = nnz * x.cols < kSerialWork ? 1 : thread_count();
    const T scale = from_scalar<T>(alpha);
    const Update<T> update(0.0, beta);
    parallel_for(tasks, nnz * x.cols, [&](int64 task) {
      const int64 low = a.cols * task / tasks, high = a.cols * (task + 1) / tasks;
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride;
        for (int64 j = low; j < high; ++j) update.one(out + j * y.row_stride, T{});
        for (int64 i = 0; i < a.rows; ++i) {
          const T factor = multiply(scale, x.as<V>()[i * x.row_stride + c * x.col_stride]);
          const std::int32_t *row = a.indices + a.indptr[i], *end = a.indices + a.indptr[i + 1];
          if (low > 0) row = std::lower_bound(row, end, low);
          for (; row < end && *row < high; ++row) {
            out[*row * y.row_stride] += multiply(conjugate_if(conj, a.values[row - a.indices]), factor);
          }
        }
      }
    });
  }
};

}  // namespace diagsparse::DIAGSPARSE_ISA
