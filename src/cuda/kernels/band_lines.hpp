// A band as the tile kernels see it: one line for every offset of a range, whether it is stored or not.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse::cuda {

// Element x of the line (row x of op(A) or of C, row k of op(B)) is values[base + x] for first <= x < last. A line of
// cdm that runs around the border (`cyclic`) is values[base + (x + first) mod n] for every x. Not stored: last <=
// first.
struct Line {
  std::int64_t base, first, last;
};

struct Band {
  std::int64_t low = 0;  // the first offset
  std::vector<Line> lines;
  bool cyclic = false;

  int width() const { return static_cast<int>(lines.size()); }
};

// Tiles of C that the kernel may have open at once, and how many a B of this width asks for.
constexpr int most_band_tiles(bool complex) { return complex ? 9 : 15; }
constexpr int band_tiles_of(int b_width) { return (b_width + 14) / 8; }

// The operands and the result of a plan as bands; false where one of them is no band: too wide, or with too many
// offsets that are not stored.
bool find_bands(const Plan& plan, Band& a, Band& b, Band& c);

}  // namespace diagsparse::cuda
