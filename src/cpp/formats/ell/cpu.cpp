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

constexpr int64 kRowsPerBlock = kInterleavedRows;

int64 tasks_of(int64 rows) { return (rows + kRowsPerBlock - 1) / kRowsPerBlock; }

// The rows from `first` on, at most kRowsPerBlock, that are below `end`.
template <class U>
InterleavedColumns block(const Ell<U, AnyIndex>& a, int64 first, int64 end) {
  return {std::min(kRowsPerBlock, end - first), a.width, a.rows, first, a.chunks, a.columns};
}

template <class U>
struct EllEntries {
  Ell<U, AnyIndex> a;

  static EllEntries of(const Matrix& m) { return {Ell<U, AnyIndex>::of(m)}; }
  int64 begin(int64 blocks, int64 k) const {  // does not divide the chunks of short columns
    return std::min(a.rows, chunks_in(a.rows) * k / blocks * kChunk);
  }
  template <class Visit>
  void traverse(int64 begin, int64 end, const Visit& visit) const {
    for (int64 first = begin; first < end; first += kRowsPerBlock) {
      checkpoint();
      const InterleavedColumns rows = block(a, first, end);
      for (int64 w = 0; w < a.width; ++w) {
        const U* const value = a.values + w * a.rows + first;
        rows.each(w, [&](int64 i, std::int32_t j) { visit(first + i)(j, value[i]); });
      }
    }
  }
};

// Kernel "row" of y = alpha op(A) x + beta y.
// op = N: a block of rows at a time, in storage order: entry 0 of each row, then entry 1, and so on. A row is summed in
//         the order of its entries, from zero, up to its padding.
// op = T: kernels/scatter.hpp, one block of rows after another.
template <class U, class V>
struct EllMatvec {
  using T = Product<U, V>;

  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const auto a = Ell<U, AnyIndex>::of(m);
    if (op.transposed) return scatter<V>(EllEntries<U>{a}, m, op.conjugated, alpha, x, beta, y);
    const Update<T> update(alpha, beta);
    parallel_for(tasks_of(a.rows), a.rows * a.width * x.cols, [&](int64 task) {
      const int64 first = task * kRowsPerBlock;
      const InterleavedRows<U> rows{block(a, first, a.rows), a.values + first};
      T sums[kRowsPerBlock];
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride + first * y.row_stride;
        std::fill_n(sums, rows.count, T{});
        add_interleaved(rows, op.conjugated, x.as<V>() + c * x.col_stride, x.row_stride, sums);
        for (int64 i = 0; i < rows.count; ++i) update.one(out + i * y.row_stride, sums[i]);
      }
    });
  }
};

FormatKernels kernel_table() { return {{{"row", every_pair<EllMatvec, MatvecKernel>()}}, {}}; }
const RegisterKernels registered("ell", kEverySet, kernel_table);

}  // namespace

template struct StoredRows<Ell>;

}  // namespace diagsparse
