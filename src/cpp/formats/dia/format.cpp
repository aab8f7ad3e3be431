// Defines the Format of dia, and computes where each diagonal is stored.
#include "core/convert.hpp"
#include "formats/dia/layout.hpp"

namespace diagsparse {

namespace {

std::vector<int64> labels_for(int64, int64, const std::vector<int64>& offsets) { return offsets; }

Layout place(int64 rows, int64 cols, std::vector<int64> labels) {
  check_labels("dia", "offsets", labels, 1 - rows, cols - 1, rows, cols);
  Layout out(dia.name, dia.labels_name, rows, cols, std::move(labels));
  const int64 count = static_cast<int64>(out.labels.size());
  checked_product(count, rows);
  out.values_shape = {count, rows};
  out.spans.reserve(count);
  for (int64 d = 0; d < count; ++d) {
    const int64 k = out.labels[d], row = first_row(k);
    out.spans.push_back({k, row, diagonal_length(rows, cols, k), d * rows + row});
  }
  sort_spans(out);
  return out;
}

}  // namespace

const DiagonalFormat dia{diagonal_table("dia"), "offsets", labels_for, place};

}  // namespace diagsparse
