// The kernels of csr on the CPU.
#include <algorithm>
#include <vector>

#include "core/plan.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr/cpu_row_accumulators.hpp"
#include "formats/csr/layout.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/simd/vec.hpp"

namespace diagsparse::DIAGSPARSE_ISA {

namespace {

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: one row of A at a time (kernels/entry_sums.hpp), and of a block in C order a few columns at a time. Each
// thread processes blocks of rows with equal work.
// op = T: the columns of the transpose, with the kernel of csc.
template <class U, class V>
struct CsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) {
      static const MatvecKernel by_columns = kernels("csc").matvec.front().typed(dtype_of<U>(), dtype_of<V>());
      return by_columns(transposed_csc(m), {false, op.conjugated}, alpha, x, beta, y);
    }
    const Csr<U> a = Csr<U>::of(m);
    // The common case of contiguous vectors without conjugation has its own loop.
    if (x.row_stride == 1 && y.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

 private:
  using R = Real<T>;
  // Neighbouring columns of a block in C order, for which each entry of A is read once. They fit a vector.
  static constexpr int kColumns = is_complex<T> ? 2 : 4, kLanes = kColumns * static_cast<int>(sizeof(T) / sizeof(R));
  static constexpr bool kReadsRows = kLanes * sizeof(R) <= kVectorBytes && is_complex<V> == is_complex<T>;

  // Their sums. As in kernels/simd/row_major.hpp, u = a + ib times x is a x + b (i x).
  struct Sums {
    using Vec = Vector<R, kReadsRows ? kLanes : 1>;
    Vec p = {}, q = {};

    [[gnu::always_inline]] Sums& operator+=(const Sums& other) {
      p += other.p;
      if constexpr (is_complex<U>) q += other.q;
      return *this;
    }
    [[gnu::always_inline]] friend Sums operator+(Sums sums, const Sums& other) { return sums += other; }

    [[gnu::always_inline]] void put(bool conj, const Update<T>& update, T* out) const {
      Vec sums[1][1] = {{p}};
      if constexpr (is_complex<U>) {
        const Vec swapped = swap_pairs(q, std::make_index_sequence<kLanes>{});
        for (int l = 0; l < kLanes; ++l) sums[0][0][l] += (l % 2 == 0) != conj ? -swapped[l] : swapped[l];
      }
      put_vectors(update, sums, [&](int) { return out; });
    }
  };

  // The columns from c on.
  [[gnu::always_inline]] static void sum_columns(const Csr<U>& a, int64 begin, int64 end, bool conj, const Dense& x,
                                                 int64 c, const Update<T>& update, const Dense& y) {
    const V* in = x.as<V>() + c;
    T* out = y.as<T>() + c;
    const int64 x_step = x.row_stride, y_step = y.row_stride;
    sum_rows<Sums>(
        a, begin, end,
        [=](const U& value, int64 j) {
          const auto row = load_as<R, kLanes>(reinterpret_cast<const Real<V>*>(in + j * x_step));
          if constexpr (is_complex<U>) return Sums{static_cast<R>(value.re) * row, static_cast<R>(value.im) * row};
          else return Sums{static_cast<R>(value) * row};
        },
        [=, &update](int64 i, const Sums& sums) { sums.put(conj, update, out + i * y_step); });
  }

  template <bool Plain>
  static void gather(const Csr<U>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 nnz = a.indptr[a.rows], x_step = Plain ? 1 : x.row_stride, y_step = Plain ? 1 : y.row_stride;
    const int64 work = nnz + a.rows, tasks = tasks_for(work);
    const auto before = [&](int64 i) { return a.indptr[i] + i; };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 begin = border(a.rows, work, tasks, task, before);
      const int64 end = border(a.rows, work, tasks, task + 1, before);
      int64 c = 0;
      if constexpr (!Plain && kReadsRows) {
        if (x.col_stride == 1 && y.col_stride == 1) {
          for (; c + kColumns <= x.cols; c += kColumns) sum_columns(a, begin, end, conj, x, c, update, y);
        }
      }
      for (; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        if (Plain && update.plain) {
          sum_rows<T>(
              a, begin, end, [=](const U& value, int64 j) { return multiply(value, in[j]); },
              [=](int64 i, T sum) { out[i] = sum; });
          continue;
        }
        sum_rows<T>(
            a, begin, end,
            [=](const U& value, int64 j) {
              return multiply(Plain ? value : conjugate_if(conj, value), in[j * x_step]);
            },
            [=, &update](int64 i, T sum) { out[i * y_step] = updated(update, sum, out[i * y_step]); });
      }
    });
  }

  // Calls put(i, sum) for each row i, where the sum is that of product(value, column) over the row.
  template <class Sum, class Multiply, class Put>
  [[gnu::always_inline]] static void sum_rows(const Csr<U> a, int64 begin, int64 end, const Multiply product,
                                              const Put put) {
    for (int64 i = begin, first = a.indptr[begin]; i < end; ++i) {
      const int64 last = a.indptr[i + 1];
      put(i, sum_entries<Sum>(a.indices + first, a.values + first, last - first, product));
      first = last;
    }
  }
};

// Kernel "row" of C = alpha A B + beta C (Gustavson): row i of C is the sum of A[i, k] times row k of B. It is
// accumulated as described in formats/csr/cpu_row_accumulators.hpp, and then read at the planned columns of C. Each
// thread processes blocks of rows. The terms of a value are added in the order of k, and rounded in the same way with
// both kinds of accumulators. The result has the same bits for any number of threads.
template <class U, class V>
struct CsrMatmul {
  using T = Product<U, V>;

  static void run(const Plan& plan, const Matrix& left, const Matrix& right, Scalar alpha, Scalar beta, Matrix& c) {
    const Csr<U> a = Csr<U>::of(left);
    const Csr<V> b = Csr<V>::of(right);
    const Csr<T> to = Csr<T>::of(c);
    T* const out = c.values.as<T>();
    const Update<T> update(alpha, beta);
    const int64 products = plan.work->operations(), tasks = tasks_of_sums(a.rows, products);
    parallel_for(tasks, products + to.indptr[a.rows], [&](int64 task) {
      const int64 begin = a.rows * task / tasks, end = a.rows * (task + 1) / tasks;
      const RowAccumulators layout = RowAccumulators::of(to.indptr, to.indices, begin, end);
      if (layout.count == 0) return;
      std::vector<T> sums(layout.count);
      if (layout.by_column) {
        T* const row = sums.data() - layout.low;
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
  // sums_of(i)(j) is a reference to the accumulator of row i and column j, which is 0 before and after.
  template <class SumsOf>
  static void sum_rows(const Csr<U> a, const Csr<V> b, const Csr<T> c, int64 begin, int64 end, const Update<T>& update,
                       T* out, const SumsOf sums_of) {
    for (int64 i = begin; i < end; ++i) {
      const auto sum_in = sums_of(i);
      for (int64 e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
        const int64 k = a.indices[e], last = b.indptr[k + 1];
        const U value = a.values[e];
        for (int64 f = b.indptr[k]; f < last; ++f) add_product(sum_in(b.indices[f]), value, b.values[f]);
      }
      const int64 first = c.indptr[i], last = c.indptr[i + 1];
      if (!update.plain) [[unlikely]] {
        scale_row(c.indices + first, last - first, update, out + first, sum_in);
        continue;
      }
      for (int64 e = first; e < last; ++e) {
        T& sum = sum_in(c.indices[e]);
        out[e] = sum;
        sum = T{};
      }
    }
  }

  // Scales and stores a row when alpha is not 1 or beta is not 0.
  template <class Sum>
  [[gnu::noinline]] static void scale_row(const std::int32_t* columns, int64 count, const Update<T>& update, T* out,
                                          const Sum sum_in) {
    using R = Real<T>;
    const R alpha = update.alpha.real_part(), beta = update.beta.real_part();
    const bool real = update.alpha.real() && update.beta.real(), reads = update.reads;
    const auto scale = [=](R sum, R before) { return reads ? fused(alpha, sum, beta * before) : alpha * sum; };
    for (int64 e = 0; e < count; ++e) {
      T& sum = sum_in(columns[e]);
      if (!real) put_sums(update, out + e, &sum, 1);  // not inlined, so that the rounding is always the same
      else if constexpr (is_complex<T>) out[e] = {scale(sum.re, out[e].re), scale(sum.im, out[e].im)};
      else out[e] = scale(sum, out[e]);
      sum = T{};
    }
  }
};

FormatKernels kernel_table() {
  return {{{"row", every_pair<CsrMatvec, MatvecKernel>()}}, {{"row", every_pair<CsrMatmul, MatmulKernel>()}}};
}
const RegisterKernels registered("csr", kIsa, kernel_table);

}  // namespace

}  // namespace diagsparse::DIAGSPARSE_ISA
