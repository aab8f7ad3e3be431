// What lies in windows of rows, which stand for a whole matrix.
#pragma once

#include <span>
#include <vector>

#include "core/array.hpp"

namespace diagsparse {

struct Sample {
  std::vector<int64> offsets, counts;  // of the diagonals that are met, ascending, and how many entries lie on each
  int64 blocks = 0;                    // 8 x 8 blocks that hold entries
  int64 in_full_blocks = 0;            // entries in blocks that hold 64
  int64 masks = 0;                     // pieces of 32 rows of a diagonal that hold entries
  int64 lines = 0;                     // lines of x that a window reads
  int64 turns = 0;                     // rows that fill another number of vectors than the row before
};

// Rows behind one another, from a multiple of 32 on.
struct RowWindow {
  int64 first, rows;
};

// `lengths` and `columns` are those of all windows in a row; a line of x holds `per_line` values.
Sample sample(std::span<const RowWindow> windows, std::span<const std::int32_t> lengths,
              std::span<const std::int32_t> columns, int64 per_line);

// After how many rows the diagonals repeat that lie in all of some rows behind one another; 0: not within half of them.
// The rows start with row `first` of a matrix of `cols` columns.
int64 period_of_rows(int64 first, int64 cols, std::span<const std::int32_t> lengths,
                     std::span<const std::int32_t> columns, const Array& values);

}  // namespace diagsparse
