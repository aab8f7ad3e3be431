// Conversions that need no arithmetic, and structures of the diagonal formats.
#include "core/convert.hpp"

#include <algorithm>

#include "core/summary.hpp"
#include "core/validation.hpp"

namespace diagsparse {

std::vector<Move> shared_diagonals(const Matrix& from, Op op, const Matrix& to) {
  std::vector<Move> moves;
  const int64 to_period = to.layout().packing.period, from_period = from.layout().packing.period;
  auto target = to.layout().spans.begin();
  for (const Span& s : packed_spans_of(from.layout(), op)) {
    while (target != to.layout().spans.end() && target->offset < s.offset) ++target;
    if (target == to.layout().spans.end()) break;
    if (target->offset != s.offset) continue;
    const int64 first = std::max(s.row, target->row), last = std::min(s.row + s.length, target->row + target->length);
    const auto run = [first](const Span& span, int64 period) {
      const int64 skipped = first - span.row;
      return period > 0 ? Elements{span.start, (span.phase + skipped) % period, period}
                        : Elements{span.start + skipped, 0, 0};
    };
    moves.push_back({run(s, from_period), run(*target, to_period), s.offset,
                     to_period > 0 ? std::min(to_period, last - first) : last - first, op.conjugated != s.conjugated});
  }
  return moves;
}

Matrix realigned(const DiagonalFormat& format, int64 rows, int64 cols, const Array& data,
                 const std::vector<int64>& offsets) {
  const int64 width = data.shape.cols;
  if (width < 0 || data.shape.rows != static_cast<int64>(offsets.size())) {
    reject(format.name, "data needs a row for each offset");
  }
  // Data aligned by column is another arrangement of runs, so the copy is the same as between any two layouts.
  auto source = std::make_shared<Layout>("dia by column", "offsets", rows, cols, std::vector<int64>{});
  source->values_shape = data.shape;
  std::vector<int64> inside;
  for (std::size_t d = 0; d < offsets.size(); ++d) {
    const int64 k = offsets[d];
    if (k <= -rows || k >= cols || rows == 0) continue;
    const int64 row = first_row(k), length = std::min(diagonal_length(rows, cols, k), width - row - k);
    inside.push_back(k);
    if (length > 0) source->spans.push_back({k, row, length, static_cast<int64>(d) * width + row + k});
  }
  sort_spans(*source);
  std::sort(inside.begin(), inside.end());
  Matrix result = zeros_on(format, rows, cols, inside, data.dtype);
  add_diagonals(1.0, Matrix(source, data), {}, result, false);
  return result;
}

StructurePtr layout_over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays) {
  const auto& target = static_cast<const DiagonalFormat&>(format);
  if (arrays.size() != 1 || arrays[0].first != target.labels_name) {
    reject(format.name, std::string("expected values and ") + target.labels_name);
  }
  const Array& given = arrays[0].second;
  if (given.dtype != DType::i64 || given.shape.cols >= 0) {
    reject(format.name, std::string(target.labels_name) + ": expected int64 in one dimension");
  }
  std::vector<int64> labels(given.size());
  if (given.on_host) std::copy_n(given.as<int64>(), labels.size(), labels.begin());
  else copy_to_host(labels.data(), given.data, given.nbytes());
  return std::make_shared<const Layout>(target.place(rows, cols, std::move(labels)));
}

void check_layout(const Matrix& m) {
  if (!dynamic_cast<const Layout*>(m.structure.get())) throw std::logic_error(m.format + "_array: not diagonals");
}

bool main_diagonal_is_real(const Matrix& a) {
  const int64 period = a.layout().packing.period;
  for (const Span& s : a.layout().spans) {
    if (s.offset == 0 && !all_real(a.values, s.start, period > 0 ? std::min(period, s.length) : s.length)) return false;
  }
  return true;
}

Matrix diagonals_from_csr(const Matrix& csr, const Format& format, const Options&) {
  const auto& target = static_cast<const DiagonalFormat&>(format);
  Matrix result = zeros_on(target, csr.rows, csr.cols, occupied_diagonals(csr, {}), csr.dtype);
  if (csr.rows > 0 && csr.cols > 0) scatter_to_diagonals(csr, result);
  return result;
}

Matrix convert_diagonals(const Matrix& a, Op op, const Format& format) {
  const auto& target = static_cast<const DiagonalFormat&>(format);
  std::vector<int64> offsets;
  for (const Span& s : spans_of(a.layout(), op)) offsets.push_back(s.offset);
  Matrix result = zeros_on(target, op.transposed ? a.cols : a.rows, op.transposed ? a.rows : a.cols, offsets, a.dtype);
  add_diagonals(1.0, a, op, result, false);
  return result;
}

Matrix compressed(const Format& format, int64 rows, int64 cols, Array indices, Array indptr, Array values) {
  std::vector<Part> parts{{"indices", std::move(indices)}, {"indptr", std::move(indptr)}};
  const int64 count = values.size();
  return {std::make_shared<const Indices>(format.name, rows, cols, std::move(parts), count), std::move(values)};
}

}  // namespace diagsparse
