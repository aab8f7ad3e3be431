// Sums of matrices by diagonals, and single diagonals of any matrix.
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

bool is_double(DType type) { return type == DType::f64 || type == DType::c128; }

bool as_stored(const Matrix& m, Op op, DType dtype) { return !op.transposed && !op.conjugated && m.dtype == dtype; }

}  // namespace

void require_shape(const Matrix& a, Op op, int64 rows, int64 cols, const char* who) {
  if ((op.transposed ? a.cols : a.rows) == rows && (op.transposed ? a.rows : a.cols) == cols) return;
  throw std::logic_error(std::string(who) + ": the shapes differ");
}

Matrix combine(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros, DType dtype) {
  if (format.combine == nullptr || terms.empty() || terms.size() > 2) {
    throw std::logic_error(std::string("combine: expected one term or two of a format that combines them, got ") +
                           std::to_string(terms.size()) + " in " + format.name);
  }
  if (how != Combine::sum && how != Combine::product && format.family != &entry_family) {
    throw std::logic_error(std::string("combine: only sums and products in ") + format.name);
  }
  require_shape(*terms.back().matrix, terms.back().op, terms.front().rows(), terms.front().cols(), "combine");
  return format.combine(format, terms, how, zeros, dtype);
}

Matrix combine_diagonals(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool, DType dtype) {
  const ScaledMatrix &a = terms.front(), &b = terms.back();
  if (how == Combine::product) {  // the kernel takes the narrower operand on the left
    return is_double(a.matrix->dtype) ? multiplied_diagonals(b, a, format.name)
                                      : multiplied_diagonals(a, b, format.name);
  }
  if (a.matrix->format == format.name && as_stored(*a.matrix, a.op, dtype) && as_stored(*b.matrix, b.op, dtype) &&
      a.matrix->structure->same_as(*b.matrix->structure)) {  // adds the complete arrays, including padding
    return {a.matrix->structure, weighted_sum(a.factor, a.matrix->values, b.factor, b.matrix->values)};
  }
  const std::vector<int64> left = offsets_of(*a.matrix, a.op), right = offsets_of(*b.matrix, b.op);
  std::vector<int64> offsets;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(offsets));
  Matrix sum = zeros_on(diagonal_format(format.name), a.rows(), a.cols(), offsets, dtype);
  add_diagonals(a.factor, *a.matrix, a.op, sum, false);
  add_diagonals(b.factor, *b.matrix, b.op, sum, true);
  return sum;
}

Array diagonal(const Matrix& a, Op op, int64 k, bool shared) {
  const int64 rows = op.transposed ? a.cols : a.rows, cols = op.transposed ? a.rows : a.cols;
  const bool outside = k <= -rows || k >= cols;  // checked first: lengths are undefined far outside
  if (outside || diagonal_length(rows, cols, k) == 0) return Array::empty(a.dtype, {0});
  if (!dynamic_cast<const Layout*>(a.structure.get())) return entries_on_diagonal(a, op, k);
  const std::vector<Span> spans = packed_spans_of(a.layout(), op);
  const auto found = std::find_if(spans.begin(), spans.end(), [k](const Span& s) { return s.offset == k; });
  const bool stored = found != spans.end();
  if (shared && stored && a.layout().packing.period == 0 && found->conjugated == op.conjugated) {
    return a.values.slice(found->start, {found->length});
  }
  auto layout = std::make_shared<const Layout>(diagonal_format("hm").place(rows, cols, {k}));  // this diagonal alone
  if (!stored) return Array::zeros(a.dtype, layout->values_shape);
  Matrix alone(layout, Array::empty(a.dtype, layout->values_shape));
  add_diagonals(1.0, a, op, alone, false);
  return alone.values;
}

}  // namespace diagsparse
