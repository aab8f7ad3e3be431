// Defines the Format of hm, and computes where each diagonal is stored.
#include <algorithm>

#include "core/convert.hpp"
#include "formats/hm/layout.hpp"

namespace diagsparse {

namespace {

// The order of the paper: 0, 1, 2, ..., -1, -2, ...
bool precedes(int64 a, int64 b) {
  if ((a < 0) != (b < 0)) return b < 0;
  return a < 0 ? a > b : a < b;
}

std::vector<int64> labels_for(int64, int64, const std::vector<int64>& offsets) {
  std::vector<int64> labels(offsets);
  if (!std::is_sorted(labels.begin(), labels.end())) std::sort(labels.begin(), labels.end());
  const auto upper = std::lower_bound(labels.begin(), labels.end(), int64{0});
  std::reverse(labels.begin(), upper);
  std::rotate(labels.begin(), upper, labels.end());
  return labels;
}

Layout place(int64 rows, int64 cols, std::vector<int64> labels) {
  check_labels("hm", "offsets", labels, 1 - rows, cols - 1, rows, cols);
  if (!std::is_sorted(labels.begin(), labels.end(), precedes)) {
    throw std::invalid_argument(
        "hm_array: offsets are not in the order of the format: 0 first, then superdiagonals ascending, then "
        "subdiagonals descending");
  }
  Layout out(hm.name, hm.labels_name, rows, cols, std::move(labels));
  int64 start = 0;
  out.spans.reserve(out.labels.size());
  out.starts.reserve(out.labels.size() + 1);
  for (int64 k : out.labels) {
    const int64 length = diagonal_length(rows, cols, k);
    out.spans.push_back({k, first_row(k), length, start});
    out.starts.push_back(start);
    if (__builtin_add_overflow(start, length, &start)) throw std::length_error("hm_array: too many values for 63 bits");
  }
  out.starts.push_back(start);
  out.values_shape.rows = start;
  const auto lower = std::find_if(out.spans.begin(), out.spans.end(), [](const Span& s) { return s.offset < 0; });
  std::reverse(lower, out.spans.end());
  std::rotate(out.spans.begin(), lower, out.spans.end());
  return out;
}

}  // namespace

const DiagonalFormat hm{diagonal_table("hm"), "offsets", labels_for, place};

}  // namespace diagsparse
