// Sums and element-wise products of masked diagonals, block of rows by block of rows. C has the bits that A or B has;
// a product has those that both have.
#pragma once

#include "core/elementwise.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

// The sum or the product of two terms, which are mdia matrices of one type; a product takes no factors. Of two halves
// of the same symmetry it is one half, too; factors of Hermitian ones are real then. Elements that become 0 stay
// stored.
Matrix combine_masked(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                      DType dtype);

// ---- Each device's own -----------------------------------------------------------------------------------
// The diagonals of A and of B that make a diagonal of C; `number` is negative where there is none.
struct MaskedTerms {
  MaskedDiagonal a, b;
};
// The masks of C (blocks of rows, diagonals), and its values. Of a product an element that one term alone stores is
// in C where it is no finite number.
Array masks_of_merge(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, int64 rows,
                     Combine how);
void merge_values(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, const Matrix& c,
                  Combine how);

}  // namespace diagsparse
