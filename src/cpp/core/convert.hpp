// Conversions between layouts: copies of diagonals, csr -> diagonals, diagonals -> csr. Implemented in cpu/ and
// ../cuda.
#pragma once

#include <optional>

#include "core/format.hpp"

namespace diagsparse {

// Elements 0 <= t < length of a diagonal in the source and in the target, conjugated by the copy if `conjugated`.
struct Move {
  Elements from, to;
  int64 offset, length;
  bool conjugated;
};
// The diagonals of op(from) that `to` stores. If `to` has a period, only its first period.
std::vector<Move> shared_diagonals(const Matrix& from, Op op, const Matrix& to);

// Adds alpha op(from) to `to`, or assigns it, on the diagonals that both store; the other values of `to` are unchanged.
// Either matrix may be packed. Copies of views, conversions within the family, astype and A + B all use this routine.
void add_diagonals(Scalar alpha, const Matrix& from, Op op, Matrix& to, bool accumulate);

// A matrix in a diagonal format from data[d, j] = A[j - offsets[d], j], the alignment of SciPy and CuPy. data has a row
// for each offset, of any width; missing elements are 0. Offsets outside the matrix are ignored.
Matrix realigned(const DiagonalFormat& format, int64 rows, int64 cols, const Array& data,
                 const std::vector<int64>& offsets);

// The lowest offset stored by both on which `full` differs from what `packed` represents, or std::nullopt if there is
// none. The main diagonal of a Hermitian matrix has to be real.
std::optional<int64> differing_diagonal(const Matrix& packed, const Matrix& full);

// The entries of each row of a csr matrix beyond the first `width`. Implemented by each backend.
Matrix rest_of_rows(const Matrix& csr, int64 width);
// The entries of a csr matrix outside these diagonals. Implemented by each backend.
Matrix entries_outside(const Matrix& csr, const Layout& diagonals);

// ---- For the format tables --------------------------------------------------------------------------
Matrix diagonals_from_csr(const Matrix& csr, const Format& format, const Options& options);
// Drops stored zeros, since a diagonal format cannot distinguish explicit zeros from padding.
Matrix csr_from_diagonals(const Matrix& a, Op op);
Matrix convert_diagonals(const Matrix& a, Op op, const Format& format);
// The structure of a diagonal format, given its labels as an array.
StructurePtr layout_over(const Format& format, int64 rows, int64 cols, std::vector<Part> arrays);
// Writes the values of a csr matrix to their positions in `to`, which holds zeros. Entries on other diagonals are
// skipped.
void scatter_to_diagonals(const Matrix& csr, Matrix& to);  // implemented by each backend

// A csr or csc matrix from its arrays.
Matrix compressed(const Format& format, int64 rows, int64 cols, Array indices, Array indptr, Array values);
// op(a) in another format that stores single entries (csr, csc, coo); values whose order does not change are shared.
// Implemented by each backend.
Matrix convert_entries(const Matrix& a, Op op, const Format& format);
void check_sorted_entries(const Matrix& m);
// What csr, csc and coo have in common.
constexpr Format entry_table(const char* name, const char* dual, decltype(Format::plan) plan = nullptr) {
  return {.name = name,
          .family = &entry_family,
          .extent = kIndexExtent,
          .structure = value_for_each,
          .check = check_sorted_entries,
          .plan = plan,
          .combine = combine_entries,
          .dual = dual};
}

bool main_diagonal_is_real(const Matrix& a);  // for diagonal formats
// What all diagonal formats have in common.
void check_layout(const Matrix& m);  // the labels were checked when the diagonals were placed
constexpr Format diagonal_table(const char* name) {
  return {.name = name,
          .family = &diagonal_family,
          .extent = kAnyExtent,
          .structure = layout_over,
          .check = check_layout,
          .real_diagonal = main_diagonal_is_real,
          .plan = plan_diagonals,
          .combine = combine_diagonals,
          .from_csr = diagonals_from_csr,
          .to_csr = csr_from_diagonals};
}

}  // namespace diagsparse
