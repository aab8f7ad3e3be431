// ell on the GPU: from rows and to rows, the gate, and the kernel "row".
//
// y = alpha op(A) x + beta y.
//   A: m x n, entry w of row i is A[i, indices[w, i]] = values[w, i], both (width, m); -1 where the padding of a row
//   begins; row_lengths (m), or none.  x: n, or n x k.  y: m, or m x k.
//
// A thread takes a row, or several where rows are few and long (walked_rows.cuh). It is meant for rows that are about
// equally long. A transpose is gathered by rows, over an index of them.
#include "core/convert.hpp"
#include "core/summary.hpp"
#include "entries/coordinates.cuh"
#include "formats/csr.hpp"
#include "formats/ell.hpp"
#include "kernels/row_kernels.hpp"
#include "kernels/stored_rows.cuh"
#include "kernels/walked_rows.cuh"
#include "matrices/faults.cuh"

namespace diagsparse {

namespace cuda::ellpack {

namespace {

template <class U, class V>
struct Row {
  static void run(const Matrix& m, Op op, Scalar alpha, const Dense& x, Scalar beta, const Dense& y) {
    if (op.transposed) return rows::gather_transpose<U, V>(m, op, alpha, x, beta, y);
    with_index_type(m.index("indices").dtype, [&](auto zero) {
      using A = Ell<U, decltype(zero)>;
      const A a = A::of(m);
      walk_all_rows<A, U, V>("ell matvec", a, m.values.size(), a.width, op, alpha, x, beta, y);
    });
  }
};

FormatKernels make() { return {{{"row", every_pair<Row, MatvecKernel>(), rows::prepare_transpose}}, {}}; }
const RegisterKernels registered("ell", 0, make);

// ---- From rows: a thread takes a row ---------------------------------------------------
template <class T>
__global__ void __launch_bounds__(kBlock)
    spread_rows(const Csr<T> csr, int64 width, std::int32_t* indices, T* values, std::int32_t* lengths) {
  const int64 i = thread_index();
  if (i >= csr.rows) return;
  const int64 begin = csr.indptr[i], length = min(width, csr.indptr[i + 1] - begin);
  for (int64 w = 0, to = i; w < width; ++w, to += csr.rows) {
    indices[to] = w < length ? csr.indices[begin + w] : -1;
    values[to] = w < length ? csr.values[begin + w] : T{};
  }
  if (lengths) lengths[i] = static_cast<std::int32_t>(length);
}

// A thread takes an index: it lies in the matrix or is padding, and comes after the one before it in its row.
__global__ void __launch_bounds__(kBlock)
    check_places(const Ell<float> a, Position* outside, Position* order, Position* lengths) {
  const int64 e = thread_index();
  if (e >= a.width * a.rows) return;
  const int64 w = e / a.rows, i = e % a.rows;
  const std::int32_t j = a.columns.indices[e];
  if (j < -1 || j >= a.cols) return tell(outside, e);
  const std::int32_t before = w > 0 ? a.columns.indices[e - a.rows] : 0;
  if (j >= 0 && w > 0 && (before < 0 || j <= before)) tell(order, e);
  if (a.row_lengths && (j >= 0) != (w < a.row_lengths[i])) tell(lengths, i);
}

__global__ void __launch_bounds__(kBlock) check_lengths(const Ell<float> a, Position* wrong) {
  const int64 i = thread_index();
  if (i < a.rows && (a.row_lengths[i] < 0 || a.row_lengths[i] > a.width)) tell(wrong, i);
}

}  // namespace

}  // namespace cuda::ellpack

using namespace cuda;
using namespace cuda::ellpack;

Matrix ell_from_rows(const Matrix& m, int64 width, bool with_lengths) {
  Array indices = Array::empty(DType::i32, {width, m.rows}), values = Array::empty(m.dtype, {width, m.rows}), lengths;
  if (with_lengths) lengths = Array::empty(DType::i32, {m.rows});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch("spread rows", spread_rows<T>, blocks(m.rows), dim3(kBlock), Csr<T>::of(m), width,
           indices.as<std::int32_t>(), values.as<T>(), lengths.as<std::int32_t>());
  });
  const int64 stored = width < longest_row(m) ? count_places(indices) : m.values.size();
  return ell_over(m.rows, m.cols, indices, with_lengths ? &lengths : nullptr, stored, values);
}

Matrix rows_from_ell(const Matrix& m) { return rows_from_stored<Ell>(m); }

Fault fault_in_ell(const Ell<float>& a) {
  const Firsts lengths, places;
  if (a.row_lengths) {
    launch("check lengths", check_lengths, blocks(a.rows), dim3(kBlock), a, lengths.outside());
    if (const Fault fault = lengths.fault(Fault::pointers); fault.kind != Fault::none) return fault;
  }
  launch("check places", check_places, blocks(a.width * a.rows), dim3(kBlock), a, places.outside(), places.order(),
         lengths.outside());
  if (const Fault fault = places.fault(Fault::outside); fault.kind != Fault::none) return fault;
  return lengths.fault(Fault::pointers);
}

}  // namespace diagsparse
