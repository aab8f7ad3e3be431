// Sums of diagonals, and single diagonals of any matrix.
#include "core/elementwise.hpp"

#include <algorithm>

#include "core/convert.hpp"

namespace diagsparse {

namespace {

std::vector<int64> offsets_of(const Matrix& a, Op op) {
  std::vector<int64> offsets;
  for (const Span& s : spans_of(a.layout(), op)) offsets.push_back(s.offset);
  return offsets;
}

bool as_stored(const Matrix& m, Op op, DType dtype) { return !op.transposed && !op.conjugated && m.dtype == dtype; }

}  // namespace

void require_shape(const Matrix& a, Op op, int64 rows, int64 cols, const char* who) {
  if ((op.transposed ? a.cols : a.rows) == rows && (op.transposed ? a.rows : a.cols) == cols) return;
  throw std::logic_error(std::string(who) + ": the shapes differ");
}

Matrix added_diagonals(Scalar alpha, const Matrix& a, Op op_a, Scalar beta, const Matrix& b, Op op_b,
                       const std::string& format, DType dtype) {
  const int64 rows = op_a.transposed ? a.cols : a.rows, cols = op_a.transposed ? a.rows : a.cols;
  require_shape(b, op_b, rows, cols, "added_diagonals");
  if (a.format == format && as_stored(a, op_a, dtype) && as_stored(b, op_b, dtype) &&
      a.structure->same_as(*b.structure)) {  // then whole arrays are added, padding and all
    return {a.structure, weighted_sum(alpha, a.values, beta, b.values)};
  }
  const std::vector<int64> left = offsets_of(a, op_a), right = offsets_of(b, op_b);
  std::vector<int64> offsets;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(offsets));
  Matrix made = zeros_on(diagonal_format(format), rows, cols, offsets, dtype);
  add_diagonals(alpha, a, op_a, made, false);
  add_diagonals(beta, b, op_b, made, true);
  return made;
}

Array diagonal(const Matrix& a, Op op, int64 k, bool shared) {
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  const bool outside = k <= -rows || k >= cols;  // asked first: numbers that far out have no length
  if (outside || diagonal_length(rows, cols, k) == 0) return Array::empty(a.dtype, {0});
  if (!dynamic_cast<const Layout*>(a.structure.get())) return entries_on_diagonal(a, op, k);
  const std::vector<Span> spans = packed_spans_of(a.layout(), op);
  const auto found = std::find_if(spans.begin(), spans.end(), [k](const Span& s) { return s.offset == k; });
  const bool stored = found != spans.end();
  if (shared && stored && a.layout().packing.period == 0 && found->conjugated == op.conjugated) {
    return a.values.slice(found->start, {found->length});
  }
  auto layout = std::make_shared<const Layout>(diagonal_format("hm").place(rows, cols, {k}));  // it alone
  if (!stored) return Array::zeros(a.dtype, layout->values_shape);
  Matrix alone(layout, Array::empty(a.dtype, layout->values_shape));
  add_diagonals(1.0, a, op, alone, false);
  return alone.values;
}

}  // namespace diagsparse
