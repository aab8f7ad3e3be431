// Between layouts: copies of diagonals, csr -> diagonals, diagonals -> csr. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include <optional>

#include "core/matrix.hpp"

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

// The offsets on which a csr matrix has entries, ascending.
std::vector<int64> occupied_diagonals(const Matrix& csr);

Matrix diagonals_from_csr(const Matrix& csr, const DiagonalFormat& format, const std::vector<int64>& offsets);
// Stored zeros are dropped: padding and explicit zeros look alike in a diagonal format.
Matrix csr_from_diagonals(const Matrix& a, Op op);

}  // namespace diagsparse
