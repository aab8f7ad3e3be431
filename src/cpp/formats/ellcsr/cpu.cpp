// ellcsr on the CPU: the kernel "row".
#include "core/kernel_table.hpp"
#include "formats/ellcsr/cpu_mirrored.hpp"
#include "formats/ellcsr/layout.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // rows between two calls of checkpoint()

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: one row at a time, its leading entries plus the rest (kernels/entry_sums.hpp). Each thread processes blocks
//         of rows with equal work.
// op = T: kernels/scatter.hpp, row by row.
// If one triangle is stored, the rest is multiplied in this way, and the leading entries together with their mirror
// images (cpu_mirrored.hpp).
template <class U, class V>
struct EllCsrMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    with_index_type(m.index("ell_indices").dtype, [&](auto zero) {
      using I = decltype(zero);
      if (!has_mirror(m)) return product<I>(m, op, alpha, x, beta, y);
      product<I>(rest_of(m), op, alpha, x, beta, y);
      if constexpr (sizeof(I) > 1) {  // symmetric storage excludes 8-bit columns
        const bool plain = x.row_stride == 1 && !op.conjugated && m.structure->symmetry() == Symmetry::symmetric;
        plain ? Mirrored<U, V, I, true>::add(m, op, alpha, x, y) : Mirrored<U, V, I, false>::add(m, op, alpha, x, y);
      }
    });
  }

 private:
  template <class I>
  static void product(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = EllCsr<U, I>::of(m);
    if (op.transposed) {
      const auto range_begin = [&](int64 ranges, int64 k) {
        return border(a.rows, work_before(a, a.rows), ranges, k, [&](int64 i) { return work_before(a, i); });
      };
      const auto traverse = [&](int64 begin, int64 end, const auto& visit) { traverse_rows(a, begin, end, visit); };
      return scatter<U, V>(m, op.conjugated, alpha, x, beta, y, range_begin, traverse);
    }
    // The common case of a contiguous x without conjugation has its own loop.
    if (x.row_stride == 1 && !op.conjugated) gather<true>(a, false, alpha, x, beta, y);
    else gather<false>(a, op.conjugated, alpha, x, beta, y);
  }

  template <class I>
  static int64 work_before(const EllCsr<U, I>& a, int64 i) {
    return a.indptr[i] + i * (a.width + 1);
  }

  template <bool Plain, class I>
  static void gather(const EllCsr<U, I>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    const int64 work = work_before(a, a.rows), tasks = tasks_for(work), step = Plain ? 1 : x.row_stride;
    const auto before = [&](int64 i) { return work_before(a, i); };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 begin = border(a.rows, work, tasks, task, before);
      const int64 end = border(a.rows, work, tasks, task + 1, before);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        const auto term = [=](const U& value, int64 j) {
          return multiply(Plain ? value : conjugate_if(conj, value), in[j * step]);
        };
        for (int64 i = begin; i < end; ++i) {
          const int64 lead = i * a.width;
          T sum = sum_line<T>(a.head, lead, i * a.chunks, a.head_values, lead, lead + a.leading(i), term);
          sum += sum_line<T>(a.rest, 0, 0, a.rest_values, a.indptr[i], a.indptr[i + 1], term);
          update.one(out + i * y.row_stride, sum);
        }
      }
    });
  }

  // Calls visit(i)(j, value) for every entry, row by row.
  template <class I, class Visit>
  static void traverse_rows(const EllCsr<U, I>& a, int64 begin, int64 end, const Visit& visit) {
    for (int64 i = begin; i < end; ++i) {
      if ((i - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
      const auto add = visit(i);
      for (int64 w = 0, stop = a.leading(i); w < stop; ++w) add(a.leading_column(i, w), a.head_values[i * a.width + w]);
      for (int64 e = a.indptr[i], stop = a.indptr[i + 1]; e < stop; ++e) add(a.rest_column(e), a.rest_values[e]);
    }
  }
};

FormatKernels kernel_table() { return {{{"row", every_pair<EllCsrMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("ellcsr", kEverySet, kernel_table);

}  // namespace

}  // namespace diagsparse
