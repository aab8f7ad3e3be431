// Where products of csr sum rows of C: what the kernel takes, and the plan forecasts.
#pragma once

#include <algorithm>

#include "cpu/parallel.hpp"

namespace diagsparse {

// How many tasks the rows of C are summed in: each as many rows, and few products, since Ctrl-C waits for the end of
// one.
inline int64 tasks_of_sums(int64 rows, int64 products) {
  return std::min<int64>(rows, std::max<int64>(16 * concurrent_tasks(), products >> 24));
}

// The sums of one row at a time, of some rows of C: one for each column from the first to the last of all these rows,
// or, where columns are far more than entries, one for each entry of a row, found by bisection.
struct SumPlaces {
  std::int32_t low = 0;  // the first column
  int64 count = 0;       // of sums
  bool by_column = true;

  static SumPlaces of(const int64* indptr, const std::int32_t* indices, int64 begin, int64 end) {
    SumPlaces result;
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
    result.by_column = columns <= std::max(kFewColumns, kColumnsOfAnEntry * (indptr[end] - indptr[begin]));
    result.count = result.by_column ? columns : longest;
    return result;
  }

 private:
  static constexpr int64 kFewColumns = 1 << 14, kColumnsOfAnEntry = 8;
};

}  // namespace diagsparse
