// Sums and element-wise products of masked diagonals: matches the diagonals of the two terms.
#include "formats/mdia/merges.hpp"

#include <stdexcept>

#include "formats/mdia/palette.hpp"
#include "formats/mdia/products.hpp"

namespace diagsparse {

namespace {

// The diagonals of a term, or only those of its upper triangle.
std::vector<MaskedDiagonal> diagonals_of(const ScaledMatrix& term, bool half) {
  std::vector<MaskedDiagonal> all = masked_diagonals(*term.matrix->structure, term.op);
  if (half) std::erase_if(all, [](const MaskedDiagonal& d) { return d.offset < 0; });
  return all;
}

// For each diagonal of C, by ascending offset, the diagonals of A and B with this offset.
std::vector<MaskedTerms> merge_by_offset(const std::vector<MaskedDiagonal>& a, const std::vector<MaskedDiagonal>& b) {
  const MaskedDiagonal none{0, -1, false, false};
  std::vector<MaskedTerms> terms;
  for (auto left = a.begin(), right = b.begin(); left != a.end() || right != b.end();) {
    const bool has_a = left != a.end() && (right == b.end() || left->offset <= right->offset);
    const bool has_b = right != b.end() && (left == a.end() || right->offset <= left->offset);
    terms.push_back({has_a ? *left++ : none, has_b ? *right++ : none});
  }
  return terms;
}

}  // namespace

Matrix combine_masked(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                      DType dtype) {
  const ScaledMatrix &a = terms.front(), &b = terms.back();
  const Matrix& first = *a.matrix;
  const int64 rows = a.rows(), cols = a.cols();
  if (first.dtype != b.matrix->dtype) throw std::logic_error("combine: the types differ");
  const Symmetry symmetry =
      first.structure->symmetry() == b.matrix->structure->symmetry() ? first.structure->symmetry() : Symmetry::none;
  const bool half = symmetry != Symmetry::none;
  if (symmetry == Symmetry::hermitian && (a.factor.imag() != 0 || b.factor.imag() != 0)) {
    throw std::logic_error("combine: a half and a factor that is not real");
  }
  const auto as_stored = [](const Op& op) { return !op.transposed && !op.conjugated; };
  if (how == Combine::sum && as_stored(a.op) && as_stored(b.op) && first.structure->same_as(*b.matrix->structure)) {
    return {first.structure, weighted_sum(a.factor, first.values, b.factor, b.matrix->values)};
  }
  if (has_palette(*first.structure) || has_palette(*b.matrix->structure)) {
    const Matrix left = without_palette(first), right = without_palette(*b.matrix);
    return combine_masked(format, {{&left, a.op, a.factor}, {&right, b.op, b.factor}}, how, zeros, dtype);
  }
  std::vector<MaskedTerms> pairs = merge_by_offset(diagonals_of(a, half), diagonals_of(b, half));
  Array mask = masks_of_merge(a, b, pairs, rows, how);
  if (how == Combine::product) mask = drop_empty(std::move(mask), pairs);
  std::vector<int64> offsets;
  for (const MaskedTerms& t : pairs) offsets.push_back(t.a.number >= 0 ? t.a.offset : t.b.offset);
  StructurePtr structure = mdia_structure(rows, cols, offsets, std::move(mask), symmetry);
  Matrix c(structure, Array::empty(first.dtype, structure->values_shape));
  merge_values(a, b, pairs, c, how);
  return c;
}

}  // namespace diagsparse
