// Sums of hollow diagonals, block of rows by block of rows: C has the bits that A or B has.
#pragma once

#include "core/elementwise.hpp"
#include "formats/mdia.hpp"

namespace diagsparse {

// The sum of two terms, which are mdia matrices of one type. Of two halves of the same symmetry it is one half, too;
// factors of Hermitian ones are real then. Elements that cancel stay stored.
Matrix added_hollow(const EntryTerm& a, const EntryTerm& b);

// ---- Each device's own -----------------------------------------------------------------------------------
// The diagonals of A and of B that make a diagonal of C; `number` is negative where there is none.
struct HollowTerms {
  HollowDiagonal a, b;
};
// The masks of C (blocks of rows, diagonals), and its values.
Array masks_of_sum(const Structure& a, const Structure& b, const std::vector<HollowTerms>& terms, int64 rows);
void add_values(const EntryTerm& a, const EntryTerm& b, const std::vector<HollowTerms>& terms, const Matrix& c);

}  // namespace diagsparse
