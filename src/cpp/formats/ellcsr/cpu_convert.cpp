// ellcsr on the CPU: conversions from and to csr, the orders of mirrored entries, and validation.
#include <atomic>
#include <numeric>

#include "cpu/csr_rows.hpp"
#include "formats/ellcsr/layout.hpp"

namespace diagsparse {

namespace {

constexpr int64 kPerCheckpoint = 1 << 16;  // rows between two calls of checkpoint()

template <class F>
void for_each_row(int64 rows, int64 work, const F& f) {
  const int64 tasks = std::clamp<int64>(work / 8192, rows > 0 ? 1 : 0, std::max<int64>(1, rows));
  parallel_for(tasks, work, [&](int64 task) {
    for (int64 i = rows * task / tasks; i < rows * (task + 1) / tasks; ++i) f(i);
  });
}

}  // namespace

bool entries_have_mirrors(const Matrix& m, int64 column) {
  const auto* const indptr = m.index("indptr").as<int64>();
  const auto* const indices = m.index("indices").as<std::int32_t>();
  std::atomic<bool> all = true;
  for_each_row(m.rows, m.values.size(), [&](int64 i) {
    for (int64 e = indptr[i]; e < indptr[i + 1] && all; ++e) {
      const int64 j = indices[e];
      if (std::min(i, j) < column && !std::binary_search(indices + indptr[j], indices + indptr[j + 1], i)) all = false;
    }
  });
  return all;
}

Matrix ellcsr_from_rows(const Matrix& m, int64 width, Leading leading) {
  Array head = Array::empty(DType::i32, {m.rows, width}), indptr = Array::zeros(DType::i64, {m.rows + 1}), rest, values;
  auto* start = indptr.as<int64>();
  const int64 positions = head.size();
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Csr<T> csr = Csr<T>::of(m);
    const Csr<float> structure{csr.rows, csr.cols, csr.indptr, csr.indices, nullptr};
    for_each_row(m.rows, m.values.size(), [&](int64 i) {
      const std::int32_t* const columns = structure.indices + csr.indptr[i];
      const int64 count = csr.indptr[i + 1] - csr.indptr[i];
      start[i + 1] = leading.count_stored(i, columns, count) - leading.of(i, columns, count);
    });
    std::partial_sum(start, start + m.rows + 1, start);
    rest = Array::empty(DType::i32, {start[m.rows]});
    values = Array::empty(m.dtype, {positions + start[m.rows]});
    for_each_row(m.rows, positions + m.values.size(), [&](int64 i) {
      const int64 from = csr.indptr[i];
      const int64 end = from + leading.count_stored(i, csr.indices + from, csr.indptr[i + 1] - from);
      const int64 middle = end - (start[i + 1] - start[i]);
      std::int32_t* const columns = head.as<std::int32_t>() + i * width;
      T* const leading_values = values.as<T>() + i * width;
      std::fill(std::copy(csr.indices + from, csr.indices + middle, columns), columns + width, -1);
      std::fill(std::copy(csr.values + from, csr.values + middle, leading_values), leading_values + width, T{});
      std::copy(csr.indices + middle, csr.indices + end, rest.as<std::int32_t>() + start[i]);
      std::copy(csr.values + middle, csr.values + end, values.as<T>() + positions + start[i]);
    });
  });
  return ellcsr_over(m.rows, m.cols, std::move(head), std::move(rest), std::move(indptr), m.values.size(),
                     std::move(values));
}

namespace {

// The same matrix with new arrays for the leading entries: f(a, i, columns, values) writes those of row i of `a`.
template <class F>
Matrix with_rows_reordered(const Matrix& m, const F& f) {
  const Shape head_shape = m.index("ell_indices").shape;
  Array head = Array::empty(DType::i32, head_shape), values = Array::empty(m.dtype, {m.values.size()});
  with_value_type(m.dtype, [&](auto zero) {
    using T = decltype(zero);
    const EllCsr<T> a = EllCsr<T>::of(m);
    for_each_row(m.rows, head_shape.size(),
                 [&](int64 i) { f(a, i, head.as<std::int32_t>() + i * a.width, values.as<T>() + i * a.width); });
    std::copy_n(a.rest_values, values.size() - head_shape.size(), values.as<T>() + head_shape.size());
  });
  return with_head(m, std::move(head), std::move(values));
}

}  // namespace

Matrix in_bank_order(const Matrix& m) {
  return with_rows_reordered(m, [](const auto& a, int64 i, std::int32_t* columns, auto* values) {
    const std::int32_t* const from = a.head.indices + i * a.width;
    BankOrder bank_order{.all = a.leading(i)};
    std::int32_t ranks[BankOrder::kBanks] = {};
    for (int64 w = 0; w < bank_order.all; ++w) ++bank_order.counts[BankOrder::bank(from[w])];
    for (int64 w = 0; w < a.width; ++w) {
      const int bank = w < bank_order.all ? BankOrder::bank(from[w]) : 0;
      const int64 to = w < bank_order.all ? bank_order.position(ranks[bank]++, bank) : w;
      columns[to] = from[w], values[to] = a.head_values[i * a.width + w];
    }
  });
}

Matrix in_column_order(const Matrix& m) {
  return with_rows_reordered(m, [](const auto& a, int64 i, std::int32_t* columns, auto* values) {
    const std::int32_t* const from = a.head.indices + i * a.width;
    std::vector<int64> order(a.width);
    std::iota(order.begin(), order.end(), int64{0});
    std::stable_sort(order.begin(), order.end(), [from](int64 v, int64 w) {
      return static_cast<std::uint32_t>(from[v]) < static_cast<std::uint32_t>(from[w]);  // padding is the largest
    });
    for (int64 w = 0; w < a.width; ++w) columns[w] = from[order[w]], values[w] = a.head_values[i * a.width + order[w]];
  });
}

Matrix rows_from_ellcsr(const Matrix& m) {
  const EllCsr<float> structure = EllCsr<float>::over(*m.structure, nullptr);
  const int64 work = m.values.size() + m.rows;
  const auto count = [&](int64* lengths) {
    for_each_row(m.rows, work,
                 [&](int64 i) { lengths[i] = structure.leading(i) + structure.indptr[i + 1] - structure.indptr[i]; });
  };
  const auto write = [&]<class T>(const int64* start, std::int32_t* columns, T* values) {
    const EllCsr<T> a = EllCsr<T>::of(m);
    for_each_row(m.rows, work, [&](int64 i) {
      const int64 from = i * a.width, length = a.leading(i);
      std::int32_t* const rest_columns = std::copy_n(a.head.indices + from, length, columns + start[i]);
      T* const rest_values = std::copy_n(a.head_values + from, length, values + start[i]);
      std::copy(a.rest.indices + a.indptr[i], a.rest.indices + a.indptr[i + 1], rest_columns);
      std::copy(a.rest_values + a.indptr[i], a.rest_values + a.indptr[i + 1], rest_values);
    });
  };
  return csr_by_rows(m.rows, m.cols, m.dtype, count, write);
}

Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored) {
  const int64 leading = a.rows * a.width;
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kPerCheckpoint == 0) checkpoint();
    std::int32_t before = -1;
    bool padding = false;
    for (int64 e = i * a.width; e < (i + 1) * a.width; ++e) {
      const std::int32_t j = a.head.indices[e];
      if (j < -1 || j >= a.end_of_head(i, mirrored)) return {Fault::outside, e};
      if (j >= 0 && (padding || j <= before)) return {Fault::order, e};
      if (j < 0) padding = true;
      else before = j;
    }
    const int64 first = a.indptr[i];
    if (!a.fits_mirror(i, mirrored)) return {Fault::outside, leading + first};
    if (first < a.indptr[i + 1] && a.rest_column(first) <= before) return {Fault::order, leading + first};
  }
  return {};
}

Fault fault_in_padding(const EllCsr<float>& a) {
  for (int64 i = 0; i < a.rows; ++i) {
    if (i % kPerCheckpoint == 0) checkpoint();
    for (int64 e = i * a.width + 1; e < (i + 1) * a.width; ++e) {
      if (a.head.indices[e] >= 0 && a.head.indices[e - 1] == -1) return {Fault::order, e};
    }
  }
  return {};
}

}  // namespace diagsparse
