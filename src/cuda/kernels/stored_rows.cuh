// ell and sell on the GPU to rows. A thread takes a stored row p: it is row a.row(p) of A, and its entries lie from
// a.begin(p) up to a.end(p), a.step() apart, up to its padding, which is -1.
#pragma once

#include "core/convert.hpp"
#include "entries/sorted_keys.cuh"
#include "formats/csr.hpp"

namespace diagsparse::cuda {

template <class A>
__global__ void __launch_bounds__(kBlock) measure_rows(const A a, std::int64_t* lengths) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 begin = a.begin(p), end = a.end(p);
  int64 e = begin;
  while (e < end && a.columns.indices[e] >= 0) e += a.step();
  lengths[a.row(p)] = (e - begin) / a.step();
}

template <class A, class T>
__global__ void __launch_bounds__(kBlock)
    gather_rows(const A a, const std::int64_t* indptr, std::int32_t* indices, T* values) {
  const int64 p = thread_index();
  if (p >= a.rows) return;
  const int64 i = a.row(p);
  for (int64 e = indptr[i], from = a.begin(p); e < indptr[i + 1]; ++e, from += a.step()) {
    indices[e] = a.columns.indices[from];
    values[e] = a.values[from];
  }
}

// `Format` is Ell or Sell.
template <template <class T, class I> class Format>
Matrix rows_from_stored(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  auto* start = indptr.as<std::int64_t>();
  using Places = Format<float, std::int32_t>;
  launch("measure rows", measure_rows<Places>, blocks(m.rows), dim3(kBlock), Places::over(*m.structure, nullptr),
         start + 1);
  const int64 count = inclusive_sum(start + 1, start + 1, m.rows);
  Array indices = Array::empty(DType::i32, {count}), values = Array::empty(m.dtype, {count});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    using A = Format<T, std::int32_t>;
    launch("gather rows", gather_rows<A, T>, blocks(m.rows), dim3(kBlock), A::of(m), start, indices.as<std::int32_t>(),
           values.as<T>());
  });
  return compressed(csr, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

}  // namespace diagsparse::cuda
