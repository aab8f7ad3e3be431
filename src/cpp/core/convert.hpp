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

// The lowest offset of those that both store on which `full` is not what `packed` says; none: std::nullopt. The main
// diagonal of a Hermitian one has to be real.
std::optional<int64> differing_diagonal(const Matrix& packed, const Matrix& full);

// The offsets on which a csr matrix has entries, ascending.
std::vector<int64> occupied_diagonals(const Matrix& csr);

Matrix diagonals_from_csr(const Matrix& csr, const DiagonalFormat& format, const std::vector<int64>& offsets);
// Stored zeros are dropped: padding and explicit zeros look alike in a diagonal format.
Matrix csr_from_diagonals(const Matrix& a, Op op);

}  // namespace diagsparse
