// Sorting rows by length, on the CPU.
#include <algorithm>
#include <numeric>
#include <vector>

#include "cpu/parallel.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

namespace {

constexpr int64 kCounted = 4096;  // if no row is longer, a counting sort is used, whose table is short

// Writes the rows of a window by descending length; rows of equal length stay in order.
void order_window(const int64* start, int64 first, int64 last, std::vector<std::int32_t>& next, std::int32_t* order) {
  const auto length = [=](int64 i) { return start[i + 1] - start[i]; };
  int64 longest = 0;
  for (int64 i = first; i < last; ++i) longest = std::max(longest, length(i));
  std::int32_t* const out = order + first;
  if (longest > kCounted) {
    std::iota(out, order + last, static_cast<std::int32_t>(first));
    std::sort(out, order + last,
              [=](std::int32_t i, std::int32_t j) { return length(i) != length(j) ? length(i) > length(j) : i < j; });
    return;
  }
  next.assign(longest + 2, 0);  // position of the next row of each length
  for (int64 i = first; i < last; ++i) ++next[longest - length(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (int64 i = first; i < last; ++i) out[next[longest - length(i)]++] = static_cast<std::int32_t>(i);
}

}  // namespace

Array rows_by_length(const Matrix& csr, int64 window) {
  constexpr int64 few = 512;  // rows of a task, as complete windows
  Array rows = Array::empty(DType::i32, {csr.rows});
  const int64* const start = csr.index("indptr").as<int64>();
  const int64 of_task = std::max(window, few / window * window);
  parallel_for((csr.rows + of_task - 1) / of_task, 4 * csr.rows, [&](int64 task) {
    std::vector<std::int32_t> next;
    const int64 last = std::min(csr.rows, (task + 1) * of_task);
    for (int64 first = task * of_task; first < last; first += window) {
      order_window(start, first, std::min(last, first + window), next, rows.as<std::int32_t>());
    }
  });
  return rows;
}

}  // namespace diagsparse
