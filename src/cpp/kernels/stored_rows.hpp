// ell and sell on the CPU to rows. A stored row p is row a.row(p) of A; its entries lie from a.begin(p) up to a.end(p),
// a.step() apart, up to its padding, which is -1.
#pragma once

#include <algorithm>
#include <numeric>

#include "core/convert.hpp"
#include "cpu/parallel.hpp"
#include "formats/csr.hpp"

namespace diagsparse {

// Calls f(first, last) for runs of about 512 rows: whole slices, or windows, of `each` rows.
template <class F>
void for_runs(int64 rows, int64 each, int64 work, const F& f) {
  constexpr int64 few = 512;
  const int64 run = std::max(each, few / each * each);
  parallel_for((rows + run - 1) / run, work, [&](int64 task) { f(task * run, std::min(rows, (task + 1) * run)); });
}

template <class A>
int64 length_of(const A& a, int64 p) {
  if (a.row_lengths) return a.row_lengths[p];
  int64 e = a.begin(p);
  while (e < a.end(p) && a.columns.indices[e] >= 0) e += a.step();
  return (e - a.begin(p)) / a.step();
}

// `Format` is Ell or Sell, in slices of `height` rows.
template <template <class T, class I> class Format>
Matrix rows_from_stored(const Matrix& m, int64 height) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  int64* start = indptr.as<int64>();
  const auto structure = Format<float, std::int32_t>::over(*m.structure, nullptr);
  const int64 places = m.values.size();
  for_runs(m.rows, height, places, [&](int64 first, int64 last) {
    for (int64 p = first; p < last; ++p) start[structure.row(p) + 1] = length_of(structure, p);
  });
  std::partial_sum(start, start + m.rows + 1, start);
  Array indices = Array::empty(DType::i32, {start[m.rows]}), values;
  auto* index = indices.as<std::int32_t>();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto a = Format<T, std::int32_t>::of(m);
    values = Array::empty(m.dtype, {start[m.rows]});
    T* value = values.as<T>();
    for_runs(m.rows, height, places, [&](int64 first, int64 last) {
      for (int64 p = first; p < last; ++p) {
        const int64 i = a.row(p);
        for (int64 e = start[i], place = a.begin(p); e < start[i + 1]; ++e, place += a.step()) {
          index[e] = a.columns.indices[place];
          value[e] = a.values[place];
        }
      }
    });
  });
  return compressed(csr, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

}  // namespace diagsparse
