// Products of masked diagonals: C = op(A) op(B), block of rows by block of rows.
//
// Diagonal a of A times diagonal b of B lies on diagonal a + b of C. Its elements in rows 32 b to 32 b + 31 are where
// the mask of A and the 32 bits of B's diagonal that start at row 32 b + a have both. So C's masks follow from those
// of A and B by shift, and, or before any value is read, and C is as long as it has to be.
#pragma once

#include "core/plan.hpp"
#include "formats/mdia/layout.hpp"

namespace diagsparse {

struct MaskedWork : Work {
  std::vector<MaskedDiagonal> a, b;
  std::vector<std::int32_t> to;  // of diagonals i of A and j of B at [i * b.size() + j]: which of C's; -1: none
  int64 multiply_adds = 0;

  std::int32_t target(std::size_t i, std::size_t j) const { return to[i * b.size() + j]; }
  int64 nbytes() const override {
    return static_cast<int64>(sizeof(MaskedDiagonal) * (a.size() + b.size()) + sizeof(std::int32_t) * to.size());
  }
  int64 operations() const override { return multiply_adds; }
};
// Whether the first diagonal of C has to be real, which sums of products of complex numbers are but for rounding.
inline bool real_diagonal_first(const Plan& plan) {
  if (plan.c->symmetry() != Symmetry::hermitian) return false;
  const std::vector<int64>& offsets = offsets_of(*plan.c);
  return !offsets.empty() && offsets.front() == 0;
}

inline const MaskedWork& masked_work(const Plan& plan) { return static_cast<const MaskedWork&>(*plan.work); }

// The masks (blocks of C's rows, diagonals of C) of the product, and how many multiply-adds it takes. Each device's
// own.
Array masks_of_product(const Structure& a, const Structure& b, MaskedWork& work, int64 rows, int64 diagonals);
// Which columns of the masks have bits, and these columns alone. Each device's own.
std::vector<bool> columns_in_use(const Array& mask);
Array some_columns(const Array& mask, const std::vector<bool>& use);

Plan plan_masked(const Format& format, const Matrix& a, Op op_a, const Matrix& b, Op op_b, const Request& request);

}  // namespace diagsparse
