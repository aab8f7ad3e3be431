// Between layouts: copies of diagonals, csr -> diagonals, diagonals -> csr. On the CPU in cpu/, on the GPU in ../cuda.
#pragma once

#include <optional>

#include "core/format.hpp"

namespace diagsparse {

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

// What each row of a csr matrix has beyond its first `width` entries. Each device's own.
Matrix rest_of_rows(const Matrix& csr, int64 width);
// What a csr matrix has beside these diagonals. Each device's own.
Matrix entries_outside(const Matrix& csr, const Layout& diagonals);

// ---- For the tables of the formats ------------------------------------------------------------------
Matrix diagonals_from_csr(const Matrix& csr, const Format& format, const Options& options);
// Stored zeros are dropped: padding and explicit zeros look alike in a diagonal format.
Matrix csr_from_diagonals(const Matrix& a, Op op);
Matrix diagonals_across(const Matrix& a, Op op, const Format& format);
// The structure of a diagonal format over its labels as an array.
StructurePtr layout_over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays);
// The values of a csr matrix at their places in `to`, which is of zeros; those on other diagonals are left out.
void scatter_to_diagonals(const Matrix& csr, Matrix& to);  // each device's own

// A matrix in compressed lines, of csr or csc.
Matrix compressed(const Format& format, int64 rows, int64 cols, Array indices, Array indptr, Array values);
// op(a) in another of the formats entry by entry (csr, csc, coo); values that stay in order are shared. Each device's
// own.
Matrix entries_across(const Matrix& a, Op op, const Format& format);
Matrix entries_from_csr(const Matrix& csr, const Format& format, const Options& options);
Matrix entries_to_csr(const Matrix& a, Op op);

bool main_diagonal_is_real(const Matrix& a);  // of diagonals
// What the formats by diagonals have alike.
void check_layout(const Matrix& m);  // its labels were checked when its diagonals were placed
constexpr Format diagonal_table(const char* name) {
  return {.name = name,
          .family = &diagonal_family,
          .extent = kAnyExtent,
          .structure = layout_over,
          .check = check_layout,
          .real_diagonal = main_diagonal_is_real,
          .plan = plan_diagonals,
          .multiplies_as = name,
          .combine = combine_diagonals,
          .from_csr = diagonals_from_csr,
          .to_csr = csr_from_diagonals};
}

}  // namespace diagsparse
