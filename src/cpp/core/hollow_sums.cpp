#include "core/hollow_sums.hpp"

#include <stdexcept>

namespace diagsparse {

namespace {

// The diagonals of a term, or those of its upper half.
std::vector<HollowDiagonal> diagonals_of(const EntryTerm& term, bool half) {
  std::vector<HollowDiagonal> all = hollow_diagonals(*term.matrix->structure, term.op);
  if (half) std::erase_if(all, [](const HollowDiagonal& d) { return d.offset < 0; });
  return all;
}

// What lies on each of C's diagonals, by ascending offset.
std::vector<HollowTerms> side_by_side(const std::vector<HollowDiagonal>& a, const std::vector<HollowDiagonal>& b) {
  const HollowDiagonal none{0, -1, false, false};
  std::vector<HollowTerms> terms;
  for (auto left = a.begin(), right = b.begin(); left != a.end() || right != b.end();) {
    const bool of_a = left != a.end() && (right == b.end() || left->offset <= right->offset);
    const bool of_b = right != b.end() && (left == a.end() || right->offset <= left->offset);
    terms.push_back({of_a ? *left++ : none, of_b ? *right++ : none});
  }
  return terms;
}

}  // namespace

Matrix added_hollow(const EntryTerm& a, const EntryTerm& b) {
  const Matrix& first = *a.matrix;
  const int64 rows = a.op.transposed ? first.cols : first.rows, cols = a.op.transposed ? first.rows : first.cols;
  require_shape(*b.matrix, b.op, rows, cols, "added_hollow");
  if (first.dtype != b.matrix->dtype) throw std::logic_error("added_hollow: the types differ");
  const Symmetry symmetry =
      first.structure->symmetry() == b.matrix->structure->symmetry() ? first.structure->symmetry() : Symmetry::none;
  const bool half = symmetry != Symmetry::none;
  if (symmetry == Symmetry::hermitian && (a.factor.imag() != 0 || b.factor.imag() != 0)) {
    throw std::logic_error("added_hollow: a half and a factor that is not real");
  }
  const auto as_stored = [](const Op& op) { return !op.transposed && !op.conjugated; };
  if (as_stored(a.op) && as_stored(b.op) && first.structure->same_as(*b.matrix->structure)) {
    return {first.structure, weighted_sum(a.factor, first.values, b.factor, b.matrix->values)};
  }
  const std::vector<HollowTerms> terms = side_by_side(diagonals_of(a, half), diagonals_of(b, half));
  std::vector<int64> offsets;
  for (const HollowTerms& t : terms) offsets.push_back(t.a.number >= 0 ? t.a.offset : t.b.offset);
  Array mask = masks_of_sum(*first.structure, *b.matrix->structure, terms, rows);
  HollowCounts counts = count_hollow(mask, half && !offsets.empty() && offsets.front() == 0 ? 0 : -1);
  Matrix c(mdia_structure(rows, cols, array_of(offsets), std::move(mask), std::move(counts.begin), symmetry, counts.all,
                          half ? 2 * counts.all - counts.on_diagonal : counts.all),
           Array::empty(first.dtype, {counts.all}));
  add_values(a, b, terms, c);
  return c;
}

}  // namespace diagsparse
