// Whether the diagonals of csr repeat, on the CPU.
#include <atomic>
#include <cstring>

#include "cpu/comparisons.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

// Whether each of the rows [first, last) is, bit by bit and in whole, the row `by` below it.
template <class T>
bool rows_repeat(const Csr<T>& a, int64 first, int64 last, int64 by) {
  if (!columns_repeat(a, first, last, by)) return false;
  const int64 begin = a.indptr[first], count = a.indptr[last] - begin;
  return std::memcmp(a.values + begin, a.values + a.indptr[first + by], count * sizeof(T)) == 0;
}

// The same of row i, of what lies on diagonals in both rows, and where zeros are no entries.
template <class T>
bool row_repeats(const Csr<T>& a, int64 i, int64 by) {
  const int64 end = a.indptr[i + 1], end_below = a.indptr[i + by + 1];
  for (int64 e = a.indptr[i], f = a.indptr[i + by];; ++e, ++f) {
    while (e < end && is_zero(a.values[e])) ++e;
    while (f < end_below && (a.indices[f] < by || is_zero(a.values[f]))) ++f;
    const bool done = e == end || a.indices[e] + by >= a.cols;
    if (done || f == end_below) return done && f == end_below;
    if (a.indices[f] != a.indices[e] + by || !same(a.values[e], a.values[f])) return false;
  }
}

template <class T>
bool all_repeat(const Csr<T>& a, int64 by) {
  std::atomic<bool> differ = false;
  for_rows(a, shares_for(a.rows), 1, [&](int64, int64 first, int64 last) {
    last = std::min(last, a.rows - by);
    for (int64 i = first, next; i < last && !differ; i = next) {
      next = std::min(last, i + kRowsAtOnce);
      if (rows_repeat(a, i, next, by)) continue;
      for (int64 row = i; row < next; ++row) {
        if (!row_repeats(a, row, by)) differ = true;
      }
    }
  });
  return !differ;
}

}  // namespace

bool repeats_after(const Matrix& csr, int64 period) {
  if (period < 1) throw std::invalid_argument("period=" + std::to_string(period) + ": expected one row or more");
  if (period >= csr.rows || period >= csr.cols) return true;
  return with_value_type(csr.dtype, [&](auto zero) { return all_repeat(Csr<decltype(zero)>::of(csr), period); });
}

}  // namespace diagsparse
