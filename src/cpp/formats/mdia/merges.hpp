// Sums and element-wise products of masked diagonals, one block of rows at a time. The masks of a sum are the union of
// those of A and B, and the masks of a product are their intersection.
#pragma once

#include "core/elementwise.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

// The sum or the product of two terms, which are mdia matrices of the same dtype. Products have no factors. If both
// store one triangle with the same symmetry, so does the result; for Hermitian matrices factors are then real. Elements
// that become 0 stay stored.
Matrix combine_masked(const Format& format, const std::vector<ScaledMatrix>& terms, Combine how, bool zeros,
                      DType dtype);

// ---- Implemented by each backend -----------------------------------------------------------------------------------
// The diagonals of A and B that contribute to a diagonal of C. `number` is negative if there is none.
struct MaskedTerms {
  MaskedDiagonal a, b;
};
// The masks of C (blocks of rows, diagonals), and its values. In a product, an element that only one term stores is an
// element of C if it is not finite.
Array masks_of_merge(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, int64 rows,
                     Combine how);
void merge_values(const ScaledMatrix& a, const ScaledMatrix& b, const std::vector<MaskedTerms>& terms, const Matrix& c,
                  Combine how);

}  // namespace diagsparse
