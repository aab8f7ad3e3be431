// ellcsr: the leading entries of each row side by side, row after row, the rest of it in csr.
//
//       matrix A (4 x 5), boundary 2       ell_indices = [ 0 1 ]
//     | 1  5  .  .  . |                                  [ 0 1 ]
//     | 9  2  6  .  . |                                  [ 1 2 ]
//     | . 10  3  7  . |                                  [ 2 3 ]
//     | .  . 11  4  8 |                    csr_indices = [ 2 3 4 ]
//                                          csr_indptr  = [ 0 0 1 2 3 ]
//                                          values      = [ 1 5  9 2  10 3  11 4 | 6 7 8 ]
//
// Row i has values[w + i width] in column ell_indices[i, w], up to the first -1, and then values[m width + e] in column
// csr_indices[e] for csr_indptr[i] <= e < csr_indptr[i + 1]. Columns ascend along the whole row,
// unless one triangle leads (below).
// ell_indices: int32 (m, width), -1 in the padding; csr_indices: int32 (rest); csr_indptr: int64 (m + 1);
// values: T (m width + rest).
// Bytes: width m (sizeof(T) + 4) + rest (sizeof(T) + 4) + 8 (m + 1).
//
// The boundary counts the leading entries of a row, or is the column before which they lie; then the row with most of
// them makes the width. By default it is the length of the shortest row: as much as fits without padding.
// Mahmoud, Hoffmann and Reza (2018), algorithm 6.
//
// Columns may be short (core/columns.hpp), of column_bits = 16, or 8 for those that lead and 16 for the rest; then
// conversions make the width a multiple of 4, which GPUs are quicker with. Rows of ell_indices are lines, with
// ell_bases; csr_indices are one line, with csr_bases. A leading part ends where the bits reach no further: the rest of
// the row takes over. So
//     width m (sizeof(T) + b) + rest (sizeof(T) + 2) + 8 (m + 1) bytes, b = 1 or 2, and 4 for each chunk with a base.
//
// Of a symmetric or Hermitian matrix one triangle may lead. Then there is a part symmetric_columns or
// hermitian_columns, int32 (1): a column c. In ell_indices are the entries E below the diagonal and before c, each of
// which stands for its mirror image too. The rest has the diagonal D, and what lies in rows and columns from c on, R.
// Other entries there are none:
//           c
//     | D E^T  E^T |
//     | E  D   E^T |      A = E + E^T + (D + R), or E + E^H + (D + R)
//   c | E  E  D+R  |
//
// Columns of a row of E are dealt to 16 banks by their remainders, so that neighbours lie in different banks of a GPU's
// shared memory (struct Deal, below); short ones have bases only where 16 bits do not count c of them.
#pragma once

#include <type_traits>

#include "core/columns.hpp"
#include "core/summary.hpp"
#include "core/validation.hpp"

namespace diagsparse {

extern const Format ellcsr;

// I: the type of ell_indices.
template <class T, class I = std::int32_t>
struct EllCsr {
  using Rest = std::conditional_t<sizeof(I) == 4, std::int32_t, std::uint16_t>;

  int64 rows, cols, width, chunks;  // places of a row that lead, and their chunks
  Columns<I> head;
  Columns<Rest> rest;
  const int64* indptr;
  const T *head_values, *rest_values;

  // How many entries of row i lead; padding follows them.
  constexpr int64 leading(int64 i) const {
    const I* const line = head.indices + i * width;
    if (width == 0 || !Columns<I>::padding(line[width - 1])) return width;
    int64 first = 0, last = width - 1;  // bisection that kernels may call, as they may not call the standard library's
    while (first < last) {
      const int64 middle = (first + last) / 2;
      if (Columns<I>::padding(line[middle])) last = middle;
      else first = middle + 1;
    }
    return first;
  }
  // Columns of row i that lead lie before this one.
  constexpr int64 end_of_head(int64 i, int64 mirrored) const {
    return mirrored < 0 ? cols : i < mirrored ? i : mirrored;
  }
  // Whether the rest of row i, which rises, is what it may be beside mirror images of columns before `mirrored`.
  constexpr bool fits_mirror(int64 i, int64 mirrored) const {
    const int64 first = indptr[i], count = indptr[i + 1] - first;
    if (mirrored < 0 || count == 0) return true;
    return i < mirrored ? count == 1 && follows(first) == i : follows(first) >= mirrored;
  }
  // The column of leading place w of row i, negative in the padding, and of place e of the rest.
  constexpr std::int32_t leads(int64 i, int64 w) const { return head.at(i * width + w, i * chunks + w / kChunk); }
  constexpr std::int32_t follows(int64 e) const { return rest.at(e, e / kChunk); }

  static EllCsr of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static EllCsr over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array& head = arrays.at("ell_indices");
    const auto bases = [&](const char* name) {
      const Array* const found = arrays.find(name);
      return found ? found->as<const std::int32_t>() : nullptr;
    };
    return {structure.rows,
            structure.cols,
            head.shape.cols,
            chunks_in(head.shape.cols),
            {head.as<I>(), bases("ell_bases")},
            {arrays.at("csr_indices").as<Rest>(), bases("csr_bases")},
            arrays.at("csr_indptr").as<int64>(),
            values,
            values + head.shape.rows * head.shape.cols};
  }
};

// The matrix of these arrays, columns of 32 bits.
Matrix ellcsr_over(int64 rows, int64 cols, Array head, Array rest, Array indptr, int64 stored, Array values);

// ---- One triangle ------------------------------------------------------------------------------------
inline bool has_mirror(const Matrix& m) { return m.structure->symmetry() != Symmetry::none; }
int64 mirrored_columns(const Matrix& m);  // c; none: -1
// A matrix of E alone, and of D + R alone, over these values. What is kept with the second stays.
Matrix leading_of(const Matrix& m);
Matrix rest_of(const Matrix& m);
// With these arrays of leading columns, of 32 bits, and of values in the place of its own.
Matrix with_head(const Matrix& m, Array head, Array values);

// These rows of E, in 32 bits, with their entries dealt; and in ascending order again, padding last, whatever they
// hold. Each device's own.
Matrix dealt(const Matrix& m);
Matrix undealt(const Matrix& m);

// Where the entries of a row go: first one of each bank, then the second of each, as far as banks have so many. Whole
// 64 of them lie so that 16 threads with 4 neighbours each read 16 banks at a time.
struct Deal {
  static constexpr int kBanks = 16;
  std::int32_t counts[kBanks] = {};  // of entries by bank
  std::int64_t all = 0;

  static constexpr int bank(std::int32_t column) { return column % kBanks; }
  // Of an entry with `rank` before it in its bank.
  constexpr std::int64_t place(std::int32_t rank, int bank) const {
    std::int64_t p = 0;
    for (int b = 0; b < kBanks; ++b) p += (counts[b] < rank ? counts[b] : rank) + (b < bank && counts[b] > rank);
    return p < all / 64 * 64 ? p / 64 * 64 + p % 16 * 4 + p % 64 / 16 : p;
  }
};

// Which of E and of its mirror image are conjugated in op(A).
struct MirrorOps {
  bool entries, images;
};
inline MirrorOps mirror_ops(const Matrix& m, Op op) {
  const bool hermitian = m.structure->symmetry() == Symmetry::hermitian;
  const bool entries = op.conjugated != (op.transposed && hermitian);
  return {entries, entries != hermitian};
}

// ---- Each device's own -----------------------------------------------------------------------------
// Whether every entry of a square csr matrix in rows or columns before this one has a mirror image that is stored.
bool entries_have_mirrors(const Matrix& csr, int64 column);
// Columns of 32 bits, in and out.
Matrix ellcsr_from_rows(const Matrix& csr, int64 width, Leading leading);
Matrix rows_from_ellcsr(const Matrix& a);  // as csr
// outside, order: of the leading columns, ascending, and of the first one of the rest, told at their place in the
// values; outside is also what has no place beside the mirror images of columns before `mirrored`, where that is not
// -1.
Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored);

}  // namespace diagsparse
