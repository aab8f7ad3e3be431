// StoredRows on the GPU: a thread processes a stored row, so neighbouring threads read neighbouring positions.
#pragma once

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "device/faults.cuh"
#include "entries/sorted_keys.cuh"
#include "layouts/rows.hpp"

namespace diagsparse {

namespace cuda {

template <class A>
__global__ void __launch_bounds__(kBlock) measure_rows(const A a, std::int64_t* lengths) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const StoredRow r = a.stored_row(p);
  int64 e = r.begin;
  while (e < r.end && a.column(e) >= 0) e += r.step;
  lengths[r.row] = (e - r.begin) / r.step;
}

template <class A, class T>
__global__ void __launch_bounds__(kBlock)
    gather_rows(const A a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const StoredRow r = a.stored_row(p);
  for (int64 to = indptr[r.row], from = r.begin; to < indptr[r.row + 1]; ++to, from += r.step) {
    indices[to] = a.column(from);
    values[to] = a.values[from];
  }
}

template <class A, class T>
__global__ void __launch_bounds__(kBlock)
    fill_rows(const Csr<T> csr, const A a, std::int32_t* indices, T* values, std::int32_t* lengths) {
  const int64 p = thread_index();
  if (p >= a.stored_rows()) return;
  const StoredRow r = a.stored_row(p);
  int64 from = r.row < 0 ? 0 : csr.indptr[r.row];
  const int64 first = from, stop = r.row < 0 ? 0 : csr.indptr[r.row + 1];
  for (int64 e = r.begin; e < r.end; e += r.step, ++from) {
    indices[e] = from < stop ? csr.indices[from] : -1;
    values[e] = from < stop ? csr.values[from] : T{};
  }
  if (lengths && r.row >= 0) lengths[p] = static_cast<std::int32_t>(min(from, stop) - first);
}

// named[i] = the first stored row that is row i.
template <class A>
__global__ void __launch_bounds__(kBlock) name_rows(const A a, Position* named, Position* outside) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row_order[p];
  if (i < 0 || i >= a.rows) report(outside, p);
  else report(named + i, p);
}
template <class A>
__global__ void __launch_bounds__(kBlock) check_names(const A a, const Position* named, Position* order) {
  const int64 p = thread_index();
  if (p < a.rows && (named[a.row_order[p]] != static_cast<Position>(p) || !a.follows(p))) report(order, p);
}

template <class A>
__global__ void __launch_bounds__(kBlock) check_lengths(const A a, Position* invalid) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const StoredRow r = a.stored_row(p);
  if (a.row_lengths[p] < 0 || a.row_lengths[p] > (r.end - r.begin) / r.step) report(invalid, p);
}

template <class A>
__global__ void __launch_bounds__(kBlock)
    check_entries(const A a, Position* outside, Position* order, Position* lengths) {
  const int64 p = thread_index();
  if (p >= a.stored_rows()) return;
  const StoredRow r = a.stored_row(p);
  const int64 length = a.row_lengths && p < a.rows ? a.row_lengths[p] : -1;
  std::int32_t before = 0;
  for (int64 e = r.begin, w = 0; e < r.end; e += r.step, ++w) {
    const std::int32_t j = a.column(e);
    if (j < -1 || j >= a.cols || (j >= 0 && p >= a.rows)) report(outside, e);
    else if (j >= 0 && w > 0 && (before < 0 || j <= before)) report(order, e);
    else if (length >= 0 && (j >= 0) != (w < length)) report(lengths, p);
    before = j;
  }
}

}  // namespace cuda

template <template <class T, class I> class Layout>
Matrix StoredRows<Layout>::to_csr(const Matrix& m) {
  using namespace cuda;
  using Positions = Layout<float, std::int32_t>;
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* const start = indptr.as<std::int64_t>();
  launch("measure rows", measure_rows<Positions>, blocks(m.rows), dim3(kBlock), Positions::over(*m.structure, nullptr),
         start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Layout<T, std::int32_t>;
    launch("gather rows", gather_rows<A, T>, blocks(m.rows), dim3(kBlock), A::of(m), start, indices.as<std::int32_t>(),
           values.as<T>());
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

template <template <class T, class I> class Layout>
void StoredRows<Layout>::fill(const Matrix& m, const Matrix& to) {
  using namespace cuda;
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Layout<T, std::int32_t>;
    const A a = A::of(to);
    launch("fill rows", fill_rows<A, T>, blocks(a.stored_rows()), dim3(kBlock), Csr<T>::of(m), a,
           to.index("indices").as<std::int32_t>(), to.values.as<T>(),
           a.row_lengths ? to.index("row_lengths").as<std::int32_t>() : nullptr);
  });
}

template <template <class T, class I> class Layout>
Fault StoredRows<Layout>::fault_in_row_order(const Structure& structure) {
  using namespace cuda;
  using A = Layout<float, std::int32_t>;
  const A a = A::over(structure, nullptr);
  if (!a.row_order) return {};
  const FirstFaults found;
  const Scratch<Position> named(a.rows);
  CUDA_CALL(cudaMemsetAsync(named.get(), 0xff, a.rows * sizeof(Position), stream()));
  launch("name rows", name_rows<A>, blocks(a.rows), dim3(kBlock), a, named.get(), found.outside());
  if (const Fault fault = found.fault(Fault::outside); fault.kind != Fault::none) return fault;
  launch("check names", check_names<A>, blocks(a.rows), dim3(kBlock), a, named.get(), found.order());
  return found.fault(Fault::outside);
}

template <template <class T, class I> class Layout>
Fault StoredRows<Layout>::fault_in_entries(const Structure& structure) {
  using namespace cuda;
  using A = Layout<float, std::int32_t>;
  const A a = A::over(structure, nullptr);
  const FirstFaults lengths, entries;
  if (a.row_lengths) {
    launch("check lengths", check_lengths<A>, blocks(a.rows), dim3(kBlock), a, lengths.outside());
    if (const Fault fault = lengths.fault(Fault::pointers); fault.kind != Fault::none) return fault;
  }
  launch("check entries", check_entries<A>, blocks(a.stored_rows()), dim3(kBlock), a, entries.outside(),
         entries.order(), lengths.outside());
  if (const Fault fault = entries.fault(Fault::outside); fault.kind != Fault::none) return fault;
  return lengths.fault(Fault::pointers);
}

}  // namespace diagsparse
