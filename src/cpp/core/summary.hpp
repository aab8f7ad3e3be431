// What a summary asks of a matrix: counts, and where entries lie. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include "core/matrix.hpp"

namespace diagsparse {

// How many stored values are not 0: of each diagonal of the matrix, those that packed storage mirrors or repeats among
// them, by ascending offset; of the other formats, which must have no padding, one number.
std::vector<int64> count_nonzero(const Matrix& a);

// Neighbouring values, and how many values that are not 0 each run holds. Each device's own.
struct ValueRun {
  int64 start, length;
};
std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs);

// ---- Places of entries ------------------------------------------------------------------------------
// What follows from the places of the entries of op(a) alone is found on csr once, and kept with the structure of `a`.
// Of a matrix by diagonals the values count too: row_lengths reads them, for the rest it has to be csr.

// The offsets of the diagonals on which entries lie, ascending, and how many lie on each.
const std::vector<int64>& occupied_diagonals(const Matrix& a, Op op);
const std::vector<int64>& entries_on_diagonals(const Matrix& a, Op op);
std::vector<int64> find_occupied_diagonals(const Matrix& csr);  // each device's own
std::vector<int64> count_on_diagonals(const Matrix& csr);       // each device's own

// The distinct lengths of the rows, ascending, and how many rows have each; of diagonals zeros do not count.
using RowLengths = std::vector<std::pair<int64, int64>>;
RowLengths row_lengths(const Matrix& a, Op op);
int64 longest_row(const Matrix& csr);

// The entries in columns below `column`: how many the row with most of them has, and how many all rows have.
struct Before {
  int64 longest, entries;
};
Before entries_before(const Matrix& a, Op op, int64 column);
Before count_before(const Matrix& csr, int64 column);  // each device's own
RowLengths count_row_lengths(const Matrix& a, Op op);  // of csr as it is, or of diagonals; each device's own

// How many size x size blocks hold entries; std::invalid_argument for sizes beyond 64.
constexpr int64 kLargestBlock = 64;
int64 occupied_blocks(const Matrix& a, Op op, int64 size);
int64 count_blocks(const Matrix& csr, int64 size);  // each device's own

// How many places slices of `height` rows have, each padded to its longest row, where the rows are sorted by descending
// length in windows of `sigma`; 1: as they are.
int64 places_in_slices(const Matrix& a, Op op, int64 height, int64 sigma);

// Which of the symmetries of core/symmetry.hpp the values of a csr matrix have; stored zeros do not count.
unsigned symmetries(const Matrix& csr);
unsigned broken_symmetries(const Matrix& csr);  // of a square one; each device's own

// Whether a table of all diagonals of a matrix is worth its bytes beside `entries`: else those that occur are listed.
inline bool table_pays(int64 rows, int64 cols, int64 entries) { return rows + cols <= 8 * entries + (1 << 16); }

}  // namespace diagsparse
