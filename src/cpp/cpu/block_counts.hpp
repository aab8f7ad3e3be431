// How many blocks a csr matrix would have in formats whose blocks are diagonals, or are of variable size. No matrix is
// stored in these formats: the counts tell what they would store.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// BCSD: the rows are cut into strips of `height` rows, and in each strip a diagonal that holds entries is a block. The
// last strip may be lower. std::invalid_argument for heights below 1.
int64 count_block_diagonals(const Matrix& csr, int64 height);

// VBR: rows that follow each other and have entries in the same columns are one row of blocks, and columns likewise. So
// a block is either full or empty.
struct VariableBlocks {
  int64 rows = 0, cols = 0;  // of blocks
  int64 blocks = 0;          // those that are full
};
VariableBlocks count_variable_blocks(const Matrix& csr);

}  // namespace diagsparse
