// ellcsr on the CPU: the kernel "row".
#include <algorithm>

#include "core/kernel_table.hpp"
#include "formats/ellcsr/cpu_mirrored.hpp"
#include "formats/ellcsr/layout.hpp"
#include "kernels/entry_sums.hpp"
#include "kernels/scatter.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // rows between two calls of checkpoint()

template <class U, class I>
int64 work_before(const EllCsr<U, I>& a, int64 i) {
  return a.indptr[i] + i * (a.width + 1);
}

// The leading columns of a matrix with 8-bit ones, in 16 bits.
Array widened_head(const Matrix& m) {
  const Array& head = m.index("ell_indices");
  Array wide = Array::empty(DType::u16, head.shape);
  const auto* const from = head.as<const std::uint8_t>();
  auto* const to = wide.as<std::uint16_t>();
  constexpr int64 positions = 1 << 16;  // of a task
  parallel_for((head.size() + positions - 1) / positions, head.size(), [&](int64 task) {
    for (int64 e = task * positions; e < std::min(head.size(), (task + 1) * positions); ++e) {
      to[e] = Columns<std::uint8_t>::padding(from[e]) ? 65535 : from[e];
    }
  });
  return wide;
}

// I: 32 or 16 bits. Columns of 8 bits, which are rare, are widened for each product.
template <class I>
struct EllCsrRows {
  template <class U>
  struct Entries {
    EllCsr<U, I> a;
    Array widened;

    static Entries of(const Matrix& m) {
      Entries entries{EllCsr<U, I>::of(m), {}};
      if (m.index("ell_indices").dtype == DType::u8) {
        entries.widened = widened_head(m);
        entries.a.head.indices = entries.widened.template as<const I>();
      }
      return entries;
    }
    int64 begin(int64 blocks, int64 k) const {
      return border(a.rows, work_before(a, a.rows), blocks, k, [&](int64 i) { return work_before(a, i); });
    }
    template <class Visit>
    void traverse(int64 begin, int64 end, const Visit& visit) const {
      for (int64 i = begin; i < end; ++i) {
        if ((i - begin) % kPerCheckpoint == kPerCheckpoint - 1) checkpoint();
        const auto add = visit(i);
        const U* const values = a.head_values + i * a.width;
        for (int64 w = 0, stop = a.leading(i); w < stop; ++w) add(a.leading_column(i, w), values[w]);
        for (int64 e = a.indptr[i], stop = a.indptr[i + 1]; e < stop; ++e) add(a.rest_column(e), a.rest_values[e]);
      }
    }
  };
};

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
    if (m.index("ell_indices").dtype == DType::i32) run_as<std::int32_t>(m, op, alpha, x, beta, y);
    else run_as<std::uint16_t>(m, op, alpha, x, beta, y);
  }

 private:
  template <class I>
  static void run_as(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (!has_mirror(m)) return product<I>(m, op, alpha, x, beta, y);
    product<I>(rest_of(m), op, alpha, x, beta, y);
    Mirrored<U, V, I>::add(m, op, alpha, x, y);
  }

  template <class I>
  static void product(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto entries = EllCsrRows<I>::template Entries<U>::of(m);
    if (op.transposed) return scatter<V>(entries, m, op.conjugated, alpha, x, beta, y);
    const EllCsr<U, I>& a = entries.a;
    const Update<T> update(alpha, beta);
    const int64 work = work_before(a, a.rows), tasks = tasks_for(work), step = x.row_stride;
    const auto before = [&](int64 i) { return work_before(a, i); };
    parallel_for(tasks, work * x.cols, [&](int64 task) {
      const int64 begin = border(a.rows, work, tasks, task, before);
      const int64 end = border(a.rows, work, tasks, task + 1, before);
      for (int64 c = 0; c < x.cols; ++c) {
        const V* in = x.as<V>() + c * x.col_stride;
        T* out = y.as<T>() + c * y.col_stride;
        const auto term = [=, conj = op.conjugated](const U& value, int64 j) {
          return multiply(conjugate_if(conj, value), in[j * step]);
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
};

FormatKernels kernel_table() { return {{{"row", every_pair<EllCsrMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("ellcsr", kEverySet, kernel_table);

}  // namespace

}  // namespace diagsparse
