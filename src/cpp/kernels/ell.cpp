// ell on the CPU: from rows and to rows, the gate, and the kernel.
#include "formats/ell.hpp"

#include <algorithm>

#include "core/convert.hpp"
#include "core/kernel_table.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"
#include "kernels/scatter.hpp"
#include "kernels/stored_rows.hpp"
#include "kernels/turned_rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kRows = kTurnedRows;  // a task

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
  static TurnedColumns block(const Ell<U, AnyIndex>& a, int64 first, int64 end) {
    return {std::min(kRows, end - first), a.width, a.rows, first, a.chunks, a.columns};
  }

  static void gather(const Ell<U, AnyIndex>& a, bool conj, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    const Update<T> update(alpha, beta);
    parallel_for(tasks_of(a.rows), a.rows * a.width * x.cols, [&](int64 task) {
      const int64 first = task * kRows;
      const TurnedRows<U> rows{block(a, first, a.rows), a.values + first};
      T sums[kRows];
      for (int64 c = 0; c < x.cols; ++c) {
        T* out = y.as<T>() + c * y.col_stride + first * y.row_stride;
        std::fill_n(sums, rows.count, T{});
        add_turned(rows, conj, x.as<V>() + c * x.col_stride, x.row_stride, sums);
        for (int64 i = 0; i < rows.count; ++i) update.one(out + i * y.row_stride, sums[i]);
      }
    });
  }

  // Calls take(i)(j, value) for every entry of some rows: blocks of them, as they lie.
  template <class Take>
  static void walk_rows(const Ell<U, AnyIndex>& a, int64 begin, int64 end, const Take& take) {
    for (int64 first = begin; first < end; first += kRows) {
      checkpoint();
      const TurnedColumns rows = block(a, first, end);
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

Matrix ell_from_rows(const Matrix& m, int64 width, bool with_lengths) {
  Array indices = Array::empty(DType::i32, {width, m.rows}), lengths, values;
  if (with_lengths) lengths = Array::empty(DType::i32, {m.rows});
  auto* index = indices.as<std::int32_t>();
  int64 stored = 0;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    values = Array::empty(m.dtype, {width, m.rows});
    T* value = values.as<T>();
    for (int64 i = 0; i < m.rows; ++i) stored += std::min(width, csr.indptr[i + 1] - csr.indptr[i]);
    parallel_for(tasks_of(m.rows), width * m.rows, [&](int64 task) {
      const int64 first = task * kRows, last = std::min(m.rows, first + kRows);
      for (int64 w = 0; w < width; ++w) {
        for (int64 i = first; i < last; ++i) {
          const int64 e = csr.indptr[i] + w, to = w * m.rows + i;
          const bool entry = e < csr.indptr[i + 1];
          index[to] = entry ? csr.indices[e] : -1;
          value[to] = entry ? csr.values[e] : T{};
        }
      }
      for (int64 i = first; with_lengths && i < last; ++i) {
        lengths.as<std::int32_t>()[i] = static_cast<std::int32_t>(std::min(width, csr.indptr[i + 1] - csr.indptr[i]));
      }
    });
  });
  return ell_over(m.rows, m.cols, indices, with_lengths ? &lengths : nullptr, stored, values);
}

Matrix rows_from_ell(const Matrix& m) { return rows_from_stored<Ell>(m, 1); }

Fault fault_in_ell(const Ell<float>& a) {
  for (int64 i = 0; a.row_lengths && i < a.rows; ++i) {
    if (a.row_lengths[i] < 0 || a.row_lengths[i] > a.width) return {Fault::pointers, i};
  }
  const int64 width = a.rows > 0 ? a.width : 0;  // which no memory bounds where there are no rows
  for (int64 w = 0; w < width; ++w) {
    checkpoint();
    for (int64 i = 0, e = w * a.rows; i < a.rows; ++i, ++e) {
      const std::int32_t j = a.columns.indices[e];
      if (j < -1 || j >= a.cols) return {Fault::outside, e};
      const bool after_padding = w > 0 && a.columns.indices[e - a.rows] < 0;
      if (j >= 0 && w > 0 && (after_padding || j <= a.columns.indices[e - a.rows])) return {Fault::order, e};
      if (a.row_lengths && (j >= 0) != (w < a.row_lengths[i])) return {Fault::pointers, i};
    }
  }
  return {};
}

}  // namespace diagsparse
