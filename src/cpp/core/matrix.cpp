// The matrix: values and a structure.
#include "core/matrix.hpp"

#include <algorithm>

namespace diagsparse {

Matrix::Matrix(StructurePtr given, Array memory)
    : structure(std::move(given)),
      values(std::move(memory)),
      format(structure->format),
      dtype(values.dtype),
      rows(structure->rows),
      cols(structure->cols) {}

std::vector<Part> Matrix::parts() const {
  std::vector<Part> all{{"values", values}};
  for (Part& part : structure->parts()) all.push_back(std::move(part));
  return all;
}

bool overlap(const Dense& x, const Dense& y) {
  if (x.rows == 0 || x.cols == 0 || y.rows == 0 || y.cols == 0) return false;
  const auto range = [](const Dense& d) {
    const int64 row = (d.rows - 1) * d.row_stride, col = (d.cols - 1) * d.col_stride, item = item_size(d.dtype);
    const char* start = static_cast<const char*>(d.data);
    return std::make_pair(start + item * (std::min<int64>(row, 0) + std::min<int64>(col, 0)),
                          start + item * (std::max<int64>(row, 0) + std::max<int64>(col, 0) + 1));
  };
  const auto [x_first, x_last] = range(x);
  const auto [y_first, y_last] = range(y);
  return x_first < y_last && y_first < x_last;
}

bool overlap(const Dense& x, const Array& y) { return overlap(x, flat(y)); }
bool overlap(const Array& x, const Array& y) { return overlap(flat(x), flat(y)); }

}  // namespace diagsparse
