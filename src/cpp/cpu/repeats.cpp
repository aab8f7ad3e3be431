// Detects whether the diagonals of a csr matrix repeat, on the CPU.
#include "core/repeats.hpp"

#include <atomic>

#include "core/summary.hpp"
#include "cpu/csr_rows.hpp"

namespace diagsparse {

namespace {

template <class T>
bool all_repeat(const Csr<T>& a, int64 by) {
  std::atomic<bool> differ = false;
  for_rows(a, workers_for(a.rows), 1, [&](int64, int64 first, int64 last) {
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

bool rows_repeat_after(const Matrix& csr, int64 period) {
  return with_value_type(csr.dtype, [&]<class T>(T) { return all_repeat(Csr<T>::of(csr), period); });
}

}  // namespace diagsparse
