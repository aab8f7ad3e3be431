// Statistics of windows of rows that represent a whole matrix.
#pragma once

#include <span>
#include <vector>

#include "core/array.hpp"

namespace diagsparse {

struct Sample {
  std::vector<int64> offsets, counts;  // of the diagonals with entries, ascending; entries on each
  int64 blocks = 0;                    // 8 x 8 blocks with entries
  int64 in_full_blocks = 0;            // entries in blocks with all 64 entries
  int64 masks = 0;                     // segments of 32 rows of a diagonal with entries
  int64 lines = 0;                     // cache lines of x that a window reads
  int64 turns = 0;                     // rows that fill another number of SIMD vectors than the previous row
};

// Consecutive rows, starting at a multiple of 32.
struct RowWindow {
  int64 first, rows;
};

// `lengths` and `columns` are those of all windows, concatenated; a cache line of x holds `per_line` values.
Sample sample(std::span<const RowWindow> windows, std::span<const std::int32_t> lengths,
              std::span<const std::int32_t> columns, int64 per_line);

// The period of the diagonals that intersect all of some consecutive rows; 0 if it is more than half of these rows. The
// first of them is row `first` of a matrix of `cols` columns.
int64 period_of_rows(int64 first, int64 cols, std::span<const std::int32_t> lengths,
                     std::span<const std::int32_t> columns, const Array& values);

}  // namespace diagsparse
