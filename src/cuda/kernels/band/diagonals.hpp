// A band as the tile kernels read it: one diagonal for every offset of a range, or for every second, third ... of them,
// whether it is stored or not.
#pragma once

#include "core/plan.hpp"

namespace diagsparse::cuda::band {

// Element x of the diagonal (row x of op(A) or of C, row k of op(B)) is values[base + x] for first <= x < last. A
// diagonal of cdm wraps around the border (`cyclic`): either it begins at 0 or it ends at n, and its other elements are
// n elements further on or further back. A diagonal that is not stored has last <= first.
struct Diagonal {
  std::int64_t base, first, last;

  constexpr bool stored() const { return first < last; }
};

struct Band {
  std::int64_t low = 0;  // the first offset
  std::vector<Diagonal> diagonals;
  bool cyclic = false;
  std::int64_t apart = 1;  // distance between offsets

  int width() const { return static_cast<int>(diagonals.size()); }
  // The range of rows in which all stored diagonals have consecutive values.
  std::int64_t first() const;
  std::int64_t last() const;
};

// Number of tiles of 8 columns in which 8 rows of an operand of this width have elements, and the largest number that
// the kernel supports.
constexpr int tiles_of(int width) { return (width + 14) / 8; }
constexpr int most_tiles(bool complex) { return complex ? 9 : 15; }
constexpr int kMostApart = 4;  // largest distance between offsets that the kernel supports

// Computes the operands and the result of a plan as bands, with the same distance between offsets. Returns false if one
// of them is not a band, because it is too wide or because too few of its offsets are stored.
bool find_bands(const Plan& plan, Band& a, Band& b, Band& c);

}  // namespace diagsparse::cuda::band
