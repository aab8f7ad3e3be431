// Defines the Format of cdm, and computes where each diagonal is stored.
#include <algorithm>

#include "core/convert.hpp"
#include "formats/cdm/layout.hpp"

namespace diagsparse {

namespace {

void require_square(int64 rows, int64 cols) {
  if (rows != cols) {
    throw std::invalid_argument("cdm_array: CDM holds square matrices only, got " + std::to_string(rows) + " x " +
                                std::to_string(cols) + "; hm_array and dia_array hold any shape");
  }
}

std::vector<int64> labels_for(int64 rows, int64 cols, const std::vector<int64>& offsets) {
  require_square(rows, cols);
  std::vector<int64> labels;
  labels.reserve(offsets.size());
  for (int64 k : offsets) labels.push_back(k < 0 ? k + rows : k);
  const auto below = std::count_if(offsets.begin(), offsets.end(), [](int64 k) { return k < 0; });
  std::rotate(labels.begin(), labels.begin() + below, labels.end());  // this sorts the labels of a band
  if (!std::is_sorted(labels.begin(), labels.end())) std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

Layout place(int64 rows, int64 cols, std::vector<int64> labels) {
  require_square(rows, cols);
  check_labels("cdm", "rows", labels, 0, rows - 1, rows, cols);
  Layout out(cdm.name, cdm.labels_name, rows, cols, std::move(labels));
  out.halves = 2;
  const int64 count = static_cast<int64>(out.labels.size());
  checked_product(count, rows);
  out.values_shape = {count, rows};
  out.spans.reserve(2 * count);
  for (int64 r = 0; r < count; ++r) {
    const int64 k = out.labels[r];
    if (k > 0) out.spans.push_back({k - rows, rows - k, k, r * rows + rows - k});
  }
  for (int64 r = 0; r < count; ++r) {
    const int64 k = out.labels[r];
    out.spans.push_back({k, 0, rows - k, r * rows});
  }
  sort_spans(out);
  return out;
}

}  // namespace

const DiagonalFormat cdm{diagonal_table("cdm"), "rows", labels_for, place};

}  // namespace diagsparse
