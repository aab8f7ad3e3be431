// Between layouts: copies of diagonals, csr -> diagonals, diagonals -> csr. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include <optional>

#include "core/format.hpp"

namespace diagsparse {

// Neighbouring elements of a diagonal: element t is values[at(t)].
struct Elements {
  int64 start, phase, period;  // period 0: they lie one after another

  constexpr int64 at(int64 t) const { return period > 0 ? start + (phase + t) % period : start + t; }
};
// Elements 0 <= t < length of a diagonal, here and there, conjugated on the way or not.
struct Move {
  Elements from, to;
  int64 offset, length;
  bool conjugated;
};
// What op(from) has on the diagonals that `to` stores; of a `to` with a period, its first one.
std::vector<Move> shared_diagonals(const Matrix& from, Op op, const Matrix& to);

// values of `to` (+)= alpha op(from) on the diagonals that both store; the rest of `to` stays. Either may be packed.
// The one routine behind copies of views, conversions inside the family, astype, and A + B.
void add_diagonals(Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate);

// A diagonal format from data[d, j] = A[j - offsets[d], j], the alignment of SciPy and CuPy; data has a row of any
// width for each offset, and what it lacks is 0. Offsets outside of the matrix are left out.
Matrix realigned(const DiagonalFormat& format, int64 rows, int64 cols, const Array& data,
                 const std::vector<int64>& offsets);

// The lowest offset of those that both store on which `full` is not what `packed` says; none: std::nullopt. The main
// diagonal of a Hermitian one has to be real.
std::optional<int64> differing_diagonal(const Matrix& packed, const Matrix& full);

// How many stored values are not 0: of each diagonal of the matrix, those that packed storage mirrors or repeats among
// them, by ascending offset; of the other formats one number.
std::vector<int64> count_nonzero(const Matrix& a);

// Neighbouring values, and how many values that are not 0 each run holds. Each device's own.
struct ValueRun {
  int64 start, length;
};
std::vector<int64> count_runs(const Matrix& a, const std::vector<ValueRun>& runs);

// Whether a table of all diagonals of a matrix is worth its bytes beside `entries`: else those that occur are listed.
inline bool table_pays(int64 rows, int64 cols, int64 entries) { return rows + cols <= 8 * entries + (1 << 16); }

// ---- What a summary asks ---------------------------------------------------------------------------
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
RowLengths count_row_lengths(const Matrix& a, Op op);  // of csr as it is, or of diagonals; each device's own

// How many size x size blocks hold entries; std::invalid_argument for sizes beyond 64.
constexpr int64 kLargestBlock = 64;
int64 occupied_blocks(const Matrix& a, Op op, int64 size);
int64 count_blocks(const Matrix& csr, int64 size);  // each device's own

// Which of the symmetries of core/symmetry.hpp the values of a csr matrix have; stored zeros do not count.
unsigned symmetries(const Matrix& csr);
unsigned broken_symmetries(const Matrix& csr);  // of a square one; each device's own

// What each row of a csr matrix has beyond its first `width` entries. Each device's own.
Matrix rest_of_rows(const Matrix& csr, int64 width);

// ---- For the tables of the formats ------------------------------------------------------------------
Matrix diagonals_from_csr(const Matrix& csr, const Format& format, const Options& options);
// Stored zeros are dropped: padding and explicit zeros look alike in a diagonal format.
Matrix csr_from_diagonals(const Matrix& a, Op op);
Matrix diagonals_across(const Matrix& a, Op op, const Format& format);
// The values of a csr matrix at their places in `to`, which is of zeros and stores its diagonals.
void scatter_to_diagonals(const Matrix& csr, Matrix& to);  // each device's own

// A matrix in compressed lines, of csr or csc.
Matrix compressed(const Format& format, int64 rows, int64 cols, Array indices, Array indptr, Array values);
// op(a) in another of the formats entry by entry (csr, csc, coo); values that stay in order are shared. Each device's
// own.
Matrix entries_across(const Matrix& a, Op op, const Format& format);
Matrix entries_from_csr(const Matrix& csr, const Format& format, const Options& options);
Matrix entries_to_csr(const Matrix& a, Op op);

}  // namespace diagsparse
