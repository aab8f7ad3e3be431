// Counts the blocks that a csr matrix would have in formats whose blocks are diagonals or have variable size. No matrix
// is stored in these formats; the counts show what they would store.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace diagsparse {

// BCSD: the rows are divided into strips of `height` rows; a diagonal that has entries in a strip is a block. The last
// strip may be shorter. Returns a count for each height; std::invalid_argument for heights below 1.
//
// Temporary memory: 4 bytes for each diagonal of the shape; with several threads, at most 4 bytes for each entry. If
// there are more than 8 diagonals per entry (`table_is_worthwhile`), 8 bytes for each entry.
std::vector<int64> count_block_diagonals(const Matrix& csr, const std::vector<int64>& heights);

// VBR: consecutive rows with entries in the same columns form a row of blocks, and likewise for columns, so a block is
// either full or empty. Temporary memory: a byte for each column, or 8 bytes for each entry.
struct VariableBlocks {
  int64 rows = 0, cols = 0;  // of blocks
  int64 blocks = 0;          // full blocks
};
VariableBlocks count_variable_blocks(const Matrix& csr);

}  // namespace diagsparse
