// ell on the CPU: the kernel "row".
#include <algorithm>

#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/ell/interleaved_rows.hpp"
#include "formats/ell/layout.hpp"
#include "kernels/scatter.hpp"
#include "layouts/cpu_rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = kInterleavedRows;  // a task

int64 tasks_of(int64 rows) { return (rows + kRows - 1) / kRows; }

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: a block of rows at a time, one entry of each after the other, as they lie. A row is summed in the order of
//         its entries, from zero, up to its padding.
// op = T: kernels/scatter.hpp, block of rows by block.
template <class U, class V>
struct EllMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Ell<U, AnyIndex>::of(m);
    if (!op.transposed) return gather(a, op.conjugated, alpha, x, beta, y);
    const auto cut = [&](int64 pieces, int64 k) {  // short columns of a chunk stay together
      return std::min(a.rows, chunks_in(a.rows) * k / pieces * kChunk);
    };
    const auto walk = [&](int64 begin, int64 end, const auto& take) { walk_rows(a, begin, end, take); };
    scatter<U, V>(m, op.conjugated, alpha, x, beta, y, cut, walk);
  }

 private:
  // At most kRows rows from `first` up to `end`.
  static InterleavedColumns block(const Ell<U, AnyIndex>& a, int64 first, int64 end) {
    return {std::min(kRows, end - first), a.width, a.rows, first, a.chunks, a.columns};
  }

  static void gather(const Ell<U, AnyIndex>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    parallel_for(tasks_of(a.rows), a.rows * a.width * x.cols, [&](int64 task) {
      const int64 first = task * kRows;
      const InterleavedRows<U> rows{block(a, first, a.rows), a.values + first};
      T sums[kRows];
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride + first * y.row_stride;
        std::fill_n(sums, rows.count, T{});
        add_interleaved(rows, conj, x.as<V>() + c * x.col_stride, x.row_stride, sums);
        for (int64 i = 0; i < rows.count; ++i) update.one(out + i * y.row_stride, sums[i]);
      }
    });
  }

  // Calls take(i)(j, value) for every entry of some rows: blocks of them, as they lie.
  template <class Take>
  static void walk_rows(const Ell<U, AnyIndex>& a, int64 begin, int64 end, const Take& take) {
    for (int64 first = begin; first < end; first += kRows) {
      checkpoint();
      const InterleavedColumns rows = block(a, first, end);
      for (int64 w = 0; w < a.width; ++w) {
        const U* const value = a.values + w * a.rows + first;
        rows.each(w, [&](int64 i, std::int32_t j) { take(first + i)(j, value[i]); });
      }
    }
  }
};

FormatKernels make() { return {{{"row", every_pair<EllMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("ell", kEverySet, make);

}  // namespace

template struct StoredRows<Ell>;

}  // namespace diagsparse
