// StoredRows on the CPU: each task processes a few hundred stored rows.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/compressed_rows.hpp"
#include "core/convert.hpp"
#include "cpu/faults.hpp"
#include "cpu/parallel.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

constexpr int64 kRowsOfTask = 512;

// Calls f(p) for each stored row p.
template <class F>
void for_stored_rows(int64 rows, int64 work, const F& f) {
  parallel_for((rows + kRowsOfTask - 1) / kRowsOfTask, work, [&](int64 task) {
    for (int64 p = task * kRowsOfTask; p < std::min(rows, (task + 1) * kRowsOfTask); ++p) f(p);
  });
}

template <class A>
int64 length_of(const A& a, int64 p) {
  if (a.row_lengths) return a.row_lengths[p];
  const StoredRow r = a.stored_row(p);
  int64 e = r.begin;
  while (e < r.end && a.column(e) >= 0) e += r.step;
  return (e - r.begin) / r.step;
}

template <template <class T, class I> class Layout>
Matrix StoredRows<Layout>::to_csr(const Matrix& m) {
  Array indptr = Array::zeros(DType::i64, {m.rows + 1});
  int64* const start = indptr.as<int64>();
  const auto structure = Layout<float, std::int32_t>::over(*m.structure, nullptr);
  const int64 work = m.values.size() + m.rows;
  for_stored_rows(m.rows, work, [&](int64 p) { start[structure.stored_row(p).row + 1] = length_of(structure, p); });
  std::partial_sum(start, start + m.rows + 1, start);
  Array indices = Array::empty(DType::i32, {start[m.rows]}), values = Array::empty(m.dtype, {start[m.rows]});
  auto* const index = indices.as<std::int32_t>();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto a = Layout<T, std::int32_t>::of(m);
    T* const value = values.as<T>();
    for_stored_rows(m.rows, work, [&](int64 p) {
      const StoredRow r = a.stored_row(p);
      for (int64 to = start[r.row], from = r.begin; to < start[r.row + 1]; ++to, from += r.step) {
        index[to] = a.column(from);
        value[to] = a.values[from];
      }
    });
  });
  return compressed(*common, m.rows, m.cols, std::move(indices), std::move(indptr), std::move(values));
}

template <template <class T, class I> class Layout>
void StoredRows<Layout>::fill(const Matrix& m, const Matrix& to) {
  auto* const index = to.index("indices").as<std::int32_t>();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    const auto a = Layout<T, std::int32_t>::of(to);
    auto* const lengths = a.row_lengths ? to.index("row_lengths").as<std::int32_t>() : nullptr;
    T* const value = to.values.as<T>();
    for_stored_rows(a.stored_rows(), to.values.size() + m.rows, [&](int64 p) {
      const StoredRow r = a.stored_row(p);
      int64 from = r.row < 0 ? 0 : csr.indptr[r.row];
      const int64 first = from, stop = r.row < 0 ? 0 : csr.indptr[r.row + 1];
      for (int64 e = r.begin; e < r.end; e += r.step, ++from) {
        index[e] = from < stop ? csr.indices[from] : -1;
        value[e] = from < stop ? csr.values[from] : T{};
      }
      if (lengths && r.row >= 0) lengths[p] = static_cast<std::int32_t>(std::min(from, stop) - first);
    });
  });
}

template <template <class T, class I> class Layout>
Fault StoredRows<Layout>::fault_in_row_order(const Structure& structure) {
  const auto a = Layout<float, std::int32_t>::over(structure, nullptr);
  std::vector<bool> seen(a.row_order ? a.rows : 0);
  for (int64 p = 0; p < static_cast<int64>(seen.size()); ++p) {
    if (p % (1 << 16) == 0) checkpoint();
    const int64 i = a.row_order[p];
    if (i < 0 || i >= a.rows) return {Fault::outside, p};
    if (seen[i] || !a.follows(p)) return {Fault::order, p};
    seen[i] = true;
  }
  return {};
}

// The faults in stored row p.
template <class A>
FirstFaults faults_in_row(const A& a, int64 p) {
  const StoredRow r = a.stored_row(p);
  FirstFaults first;
  const bool given = a.row_lengths && p < a.rows;
  const int64 length = given ? a.row_lengths[p] : 0;
  if (given && (length < 0 || length > (r.end - r.begin) / r.step)) first.pointers = p;
  std::int32_t before = 0;
  for (int64 e = r.begin, w = 0; e < r.end; e += r.step, ++w) {
    const std::int32_t j = a.column(e);
    if (j < A::kLeastColumn || j >= a.cols || (j >= 0 && p >= a.rows)) first.update(first.outside, e);
    else if (j >= 0 && w > 0 && (before < 0 || j <= before)) first.update(first.order, e);
    else if (given && (j >= 0) != (w < length)) first.update(first.lengths, p);
    before = j;
  }
  return first;
}

template <template <class T, class I> class Layout>
Fault StoredRows<Layout>::fault_in_entries(const Structure& structure) {
  const auto a = Layout<float, std::int32_t>::over(structure, nullptr);
  const int64 rows = a.stored_rows();
  return first_fault(rows, kRowsOfTask, structure.values_shape.size() + rows, [&](int64 first, int64 last) {
    FirstFaults all;
    for (int64 p = first; p < last; ++p) all.update(faults_in_row(a, p));
    return all;
  });
}

}  // namespace diagsparse
