// The kernels of csr on the CPU.
#include "formats/csr.hpp"

#include <algorithm>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/sum_places.hpp"
#include "formats/csc.hpp"
#include "kernels/each_set/vec.hpp"
#include "kernels/entry_sums.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: a row of A at a time (kernels/entry_sums.hpp); blocks of rows with equal work on each thread.
// op = T: the columns of the transpose, by csc's kernel.
template <class U, class V>
struct CsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) {
      static const MatvecKernel by_columns = kernels("csc").matvec.front().typed(dtype_of<U>(), dtype_of<V>());
      return by_columns(transposed_csc(m), {false, op.conjugated}, alpha, x, beta, y);
    }
    const Csr<U> a = Csr<U>::of(m);
    // The common case, neighbouring elements and no conjugate, as a loop of its own.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  template <bool Plain>
  static void gather(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 nnz = a.indptr[a.rows], x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 work = nnz + a.rows, tasks = tasks_for(work);
    const auto before = [&](int64 i) { return a.indptr[i] + i; };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 begin = border(a.rows, work, tasks, task, before);
      const int64 end = border(a.rows, work, tasks, task + 1, before);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        if (Plain && update.plain) {
          sum_rows(
              a, begin, end, [=](const U& value, int64 j) { return multiply(value, in[j]); },
              [=](int64 i, T sum) { out[i] = sum; });
          continue;
        }
        sum_rows(
            a, begin, end,
            [=](const U& value, int64 j) {
              return multiply(Plain ? value : conjugate_if(conj, value), in[j * x_step]);
            },
            [=, &update](int64 i, T sum) { update.one(out + i * y_step, sum); });
      }
    });
  }

  // Calls put(i, the sum of product(value, column) over row i).
  template <class Multiply, class Put>
  [[gnu::always_inline]] static void sum_rows(const Csr<U> a, int64 begin, int64 end, const Multiply product,
                                              const Put put) {
    for (int64 i = begin, first = a.indptr[begin]; i < end; ++i) {
      const int64 last = a.indptr[i + 1];
      put(i, sum_entries<T>(a.indices + first, a.values + first, last - first, product));
      first = last;
    }
  }
};

// Kernel "row" of C = alpha A B + beta C (Gustavson): row i of C is the sum of A[i, k] times row k of B, in the places
// of cpu/sum_places.hpp, and read out at C's planned columns. A thread takes blocks of rows. A value's terms are summed
// in the order of k: the same bits for any number of threads.
template <class U, class V>
struct CsrMatmul {
  using T = Product<U, V>;

  static void run(const Plan&, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    const Csr<U> a = Csr<U>::of(left);
    const Csr<V> b = Csr<V>::of(right);
    const Csr<T> to = Csr<T>::of(c);
    T* const out = c.values.as<T>();
    const Update<T> update(alpha, beta);
    const int64 tasks = std::min<int64>(a.rows, 16 * concurrent_tasks());
    parallel_for(tasks, to.indptr[a.rows] * 8, [&](int64 task) {
      const int64 begin = a.rows * task / tasks, end = a.rows * (task + 1) / tasks;
      const SumPlaces by = SumPlaces::of(to.indptr, to.indices, begin, end);
      if (by.count == 0) return;
      std::vector<T> sums(by.count);
      if (by.by_column) {
        T* const row = sums.data() - by.low;
        sum_rows(a, b, to, begin, end, update, out,
                 [row](int64) { return [row](std::int32_t j) -> T& { return row[j]; }; });
      } else {
        sum_rows(a, b, to, begin, end, update, out, [&](int64 i) {
          const std::int32_t *const first = to.indices + to.indptr[i], *const last = to.indices + to.indptr[i + 1];
          return [=, &sums](std::int32_t j) -> T& { return sums[std::lower_bound(first, last, j) - first]; };
        });
      }
    });
  }

 private:
  // sums_of(i)(j) is the sum of row i in column j, 0 before and after.
  template <class SumsOf>
  static void sum_rows(const Csr<U> a, const Csr<V> b, const Csr<T> c, int64 begin, int64 end, const Update<T>& update,
                       T* out, const SumsOf sums_of) {
    for (int64 i = begin; i < end; ++i) {
      const auto sum_in = sums_of(i);
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
        const int64 k = a.indices[e], last = b.indptr[k + 1];
        const U value = a.values[e];
        for (int64 f = b.indptr[k]; f < last; ++f) sum_in(b.indices[f]) += multiply(value, b.values[f]);
      }
      for (int64 e = c.indptr[i]; e < c.indptr[i + 1]; ++e) {
        T& sum = sum_in(c.indices[e]);
        update.one(out + e, sum);
        sum = T{};
      }
    }
  }
};

FormatKernels make() {
  return {{{"row", every_pair<CsrMatvec, MatvecKernel>()}}, {{"row", every_pair<CsrMatmul, MatmulKernel>()}}};
}
const RegisterKernels registered("csr", kIsa, make);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
