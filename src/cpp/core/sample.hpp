// Properties of a matrix that are estimated from a few rows, in much less time than a product.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace diagsparse {

constexpr int64 kSampledEntries = 1 << 12;  // approximately; a matrix with fewer entries is read completely

struct Sample {
  std::vector<int64> offsets;  // of the diagonals with sampled entries, ascending; not of all if there are many
  std::vector<int64> fill;     // entries on each of them, scaled to the entire matrix
  int64 blocks = 0;            // occupied 8 x 8 blocks, scaled to the entire matrix
  double in_full_blocks = 0;   // fraction of the entries in blocks with all 64 entries
  double masks = 0;            // segments of 32 rows of a diagonal with entries, per entry: 1/32 if diagonals are full
  double lines = 0;            // cache lines of x per entry that entries of the same window have not loaded before
  double branches = 0;         // branches per row that differ from those of the previous row
};

// Reads windows of consecutive rows that are distributed over a csr matrix, on any device. Of long rows, only the first
// entries are read.
Sample sample(const Matrix& csr);

}  // namespace diagsparse
