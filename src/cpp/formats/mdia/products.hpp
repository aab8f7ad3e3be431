// Products of masked diagonals: C = op(A) op(B), one block of rows at a time.
//
// Diagonal a of A times diagonal b of B contributes to diagonal a + b of C. In rows 32 b to 32 b + 31, its elements are
// given by the intersection of the mask of A and the 32 bits of the diagonal of B that start at row 32 b + a. The masks
// of C are therefore computed from those of A and B with shifts, AND and OR, before any value is read, and C has its
// exact size.
#pragma once

#include "core/plan.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

struct MaskedWork : Work {
  std::vector<MaskedDiagonal> a, b;
  std::vector<std::int32_t> to;  // [i * b.size() + j]: the diagonal of C for diagonals i of A and j of B, or -1
  int64 multiply_adds = 0;

  std::int32_t target(std::size_t i, std::size_t j) const { return to[i * b.size() + j]; }
  int64 nbytes() const override {
    return static_cast<int64>(sizeof(MaskedDiagonal) * (a.size() + b.size()) + sizeof(std::int32_t) * to.size());
  }
  int64 operations() const override { return multiply_adds; }
};
// Whether the first diagonal of C has to be real. Its sums of products of complex numbers are real only up to rounding.
inline bool real_diagonal_first(const Plan& plan) {
  if (plan.c->symmetry() != Symmetry::hermitian) return false;
  const std::vector<int64>& offsets = offsets_of(*plan.c);
  return !offsets.empty() && offsets.front() == 0;
}

inline const MaskedWork& masked_work(const Plan& plan) { return static_cast<const MaskedWork&>(*plan.work); }

// Returns the masks of the product (blocks of rows of C, diagonals of C), and sets the number of multiply-adds.
// Implemented by each backend.
Array masks_of_product(const Structure& a, const Structure& b, MaskedWork& work, int64 rows, int64 diagonals);
// Which columns of the masks have bits, and the masks with these columns only. Implemented by each backend.
std::vector<bool> columns_in_use(const Array& mask);
Array select_columns(const Array& mask, const std::vector<bool>& use);
// Drops the columns without bits, and the elements of `diagonals`, one for each column, that belong to them.
template <class Diagonal>
Array drop_empty(Array mask, std::vector<Diagonal>& diagonals) {
  const std::vector<bool> use = columns_in_use(mask);
  std::size_t used = 0;
  for (std::size_t d = 0; d < use.size(); ++d) {
    if (use[d]) diagonals[used++] = diagonals[d];
  }
  if (used == use.size()) return mask;
  diagonals.resize(used);
  return select_columns(mask, use);
}

void plan_masked(Plan& plan, const Matrix& a, const Matrix& b, const Request& request);

}  // namespace diagsparse
