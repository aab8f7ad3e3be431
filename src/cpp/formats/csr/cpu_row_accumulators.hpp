// The accumulators of a row of C in products of csr, shared by the kernel and the forecast of a plan.
#pragma once

#include <algorithm>

#include "cpu/parallel.hpp"

namespace diagsparse {

// The number of tasks that the rows of C are divided into. Each has the same number of rows, and few enough products
// that Ctrl-C, which takes effect after a task, does not wait long.
inline int64 tasks_of_sums(int64 rows, int64 products) {
  return std::min<int64>(rows, std::max<int64>(16 * concurrent_tasks(), products >> 24));
}

// The accumulators that a task uses for one row at a time. There is one for each column from the first to the last of
// all rows of the task, or, if these columns far outnumber the entries, one for each entry of a row, located by
// bisection.
struct RowAccumulators {
  std::int32_t low = 0;  // the first column
  int64 count = 0;       // of accumulators
  bool by_column = true;

  static RowAccumulators of(const int64* indptr, const std::int32_t* indices, int64 begin, int64 end) {
    RowAccumulators result;
    std::int32_t high = -1;
    int64 longest = 0;
    for (int64 i = begin; i < end; ++i) {
      const int64 first = indptr[i], last = indptr[i + 1];
      if (first == last) continue;
      result.low = high < 0 ? indices[first] : std::min(result.low, indices[first]);
      high = std::max(high, indices[last - 1]);
      longest = std::max(longest, last - first);
    }
    const int64 columns = high < 0 ? 0 : int64{high} - result.low + 1;
    result.by_column = columns <= std::max(kFewColumns, kColumnsPerEntry * (indptr[end] - indptr[begin]));
    result.count = result.by_column ? columns : longest;
    return result;
  }

 private:
  static constexpr int64 kFewColumns = 1 << 14, kColumnsPerEntry = 8;
};

}  // namespace diagsparse
