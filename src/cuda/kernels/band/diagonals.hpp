// A band as the tile kernels see it: one diagonal for every offset of a range, whether it is stored or not.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::band {

// Element x of the diagonal (row x of op(A) or of C, row k of op(B)) is values[base + x] for first <= x < last. A
// diagonal of cdm runs around the border (`cyclic`): either it begins at 0 or it ends at n, and its other elements lie
// n elements further in front or behind. Not stored: last <= first.
struct Diagonal {
  std::int64_t base, first, last;

  constexpr bool stored() const { return first < last; }
};

struct Band {
  std::int64_t low = 0;  // the first offset
  std::vector<Diagonal> diagonals;
  bool cyclic = false;

  int width() const { return static_cast<int>(diagonals.size()); }
  // The rows for which every diagonal that is stored has its values behind one another.
  std::int64_t first() const;
  std::int64_t last() const;
};

// Tiles of 8 columns that 8 rows of an operand of this width meet, and the most that the kernel has room for.
constexpr int tiles_of(int width) { return (width + 14) / 8; }
constexpr int most_tiles(bool complex) { return complex ? 9 : 15; }

// The operands and the result of a plan as bands; false where one of them is no band: too wide, or with too many
// offsets that are not stored.
bool find_bands(const Plan& plan, Band& a, Band& b, Band& c);

}  // namespace diagsparse::cuda::band
