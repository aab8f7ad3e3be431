// How many blocks a csr matrix would have in formats whose blocks are diagonals, or are of variable size. No matrix is
// stored in these formats: the counts tell what they would store.
#pragma once

#include <vector>

#include "core/matrix.hpp"

namespace diagsparse {

// BCSD: the rows are cut into strips of `height` rows, and in each strip a diagonal that holds entries is a block. The
// last strip may be lower. Returns a count for each height; std::invalid_argument for heights below 1.
//
// Temporary memory: 4 bytes for each diagonal of the shape, on several threads 4 for each entry at most; where there
// are more than 8 diagonals to an entry (`table_pays`) 8 bytes for each entry.
std::vector<int64> count_block_diagonals(const Matrix& csr, const std::vector<int64>& heights);

// VBR: rows that follow each other and have entries in the same columns are one row of blocks, and columns likewise. So
// a block is either full or empty. Temporary memory: a byte for each column, or 8 bytes for each entry.
struct VariableBlocks {
  int64 rows = 0, cols = 0;  // of blocks
  int64 blocks = 0;          // those that are full
};
VariableBlocks count_variable_blocks(const Matrix& csr);

}  // namespace diagsparse
