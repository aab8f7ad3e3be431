// ellcsr: the leading entries of each row in an array of rows of equal width, the rest of the row in csr.
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
// csr_indices[e] for csr_indptr[i] <= e < csr_indptr[i + 1]. Columns are ascending in the complete row, except with
// symmetric storage (below).
// ell_indices: int32 (m, width), -1 in the padding; csr_indices: int32 (rest); csr_indptr: int64 (m + 1);
// values: T (m width + rest).
// Bytes: width m (sizeof(T) + 4) + rest (sizeof(T) + 4) + 8 (m + 1).
//
// The boundary is the number of leading entries of a row. Alternatively, it is a column: the entries to the left of it
// lead, and the row with most of them determines the width. By default the boundary is the length of the shortest row,
// the largest number without padding.
// Mahmoud, Hoffmann and Reza (2018), algorithm 6.
//
// Columns may be short (core/columns.hpp): column_bits = 16, or 8 for the leading entries and 16 for the rest.
// Conversions then round the width up to a multiple of 4, which is faster on GPUs. Each row of ell_indices is a line,
// with ell_bases; csr_indices is a single line, with csr_bases. If a column of a leading entry is out of range for its
// chunk, the rest of the row starts there. This needs
//     width m (sizeof(T) + b) + rest (sizeof(T) + 2) + 8 (m + 1) bytes, b = 1 or 2, and 4 for each chunk with a base.
//
// Symmetric and Hermitian matrices can store one triangle. In this case there is an array symmetric_columns or
// hermitian_columns, int32 (1), which holds a column c. ell_indices holds the entries E below the diagonal in columns
// less than c, each of which also represents its mirror image. The rest holds the diagonal D, and the entries R in rows
// and columns from c on. There are no other entries:
//           c
//     | D E^T  E^T |
//     | E  D   E^T |      A = E + E^T + (D + R), or E + E^H + (D + R)
//   c | E  E  D+R  |
//
// The columns of a row of E are ordered by their remainders modulo 16, so that consecutive entries access different
// banks of a GPU's shared memory (struct BankOrder, below). Short columns have bases only if c does not fit in 16 bits.
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

  int64 rows, cols, width, chunks;  // width: positions of a row in ell_indices; chunks: those of a row
  Columns<I> head;
  Columns<Rest> rest;
  const int64* indptr;
  const T *head_values, *rest_values;

  // The number of leading entries of row i, before its padding.
  constexpr int64 leading(int64 i) const {
    const I* const line = head.indices + i * width;
    if (width == 0 || !Columns<I>::padding(line[width - 1])) return width;
    int64 first = 0, last = width - 1;  // bisection without the standard library, so that GPU kernels can call it
    while (first < last) {
      const int64 middle = (first + last) / 2;
      if (Columns<I>::padding(line[middle])) last = middle;
      else first = middle + 1;
    }
    return first;
  }
  // The columns of the leading entries of row i are less than this.
  constexpr int64 end_of_head(int64 i, int64 mirrored) const {
    return mirrored < 0 ? cols : i < mirrored ? i : mirrored;
  }
  // Whether the rest of row i, which is ascending, holds only entries that are allowed if columns below `mirrored` have
  // mirror images.
  constexpr bool fits_mirror(int64 i, int64 mirrored) const {
    const int64 first = indptr[i], count = indptr[i + 1] - first;
    if (mirrored < 0 || count == 0) return true;
    return i < mirrored ? count == 1 && rest_column(first) == i : rest_column(first) >= mirrored;
  }
  // The column at leading position w of row i, negative in the padding, and at position e of the rest.
  constexpr std::int32_t leading_column(int64 i, int64 w) const {
    return head.at(i * width + w, i * chunks + w / kChunk);
  }
  constexpr std::int32_t rest_column(int64 e) const { return rest.at(e, e / kChunk); }

  static EllCsr of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static EllCsr over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array& head = arrays.at("ell_indices");
    const auto bases = [&](const char* name) {
      const Array* const match = arrays.find(name);
      return match ? match->as<const std::int32_t>() : nullptr;
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

// A matrix over these arrays, with 32-bit columns.
Matrix ellcsr_over(int64 rows, int64 cols, Array head, Array rest, Array indptr, int64 stored, Array values);

// ---- Symmetric storage -------------------------------------------------------------------------------
inline bool has_mirror(const Matrix& m) { return m.structure->symmetry() != Symmetry::none; }
int64 mirrored_columns(const Matrix& m);  // c, or -1 without symmetric storage
// E and D + R as matrices of their own, over the same values. The structure of D + R is cached with m, and so is what
// kernels cache for it.
Matrix leading_of(const Matrix& m);
Matrix rest_of(const Matrix& m);
// The same matrix with 32-bit columns, over the same values.
Matrix lengthened(const Matrix& m);
// The same matrix with other leading columns (32 bits) and values.
Matrix with_head(const Matrix& m, Array head, Array values);

// The same matrix with the leading entries of each row in bank order, or in ascending order with the padding last. The
// latter also accepts invalid columns. Both expect 32-bit columns. Implemented by each backend.
Matrix in_bank_order(const Matrix& m);
Matrix in_column_order(const Matrix& m);

// The order of the entries of a row: the first of each bank, then the second of each bank that has as many, and so on.
// Each complete group of 64 is interleaved further, so that 16 threads with 4 consecutive entries each read from 16
// banks at a time.
struct BankOrder {
  static constexpr int kBanks = 16;
  std::int32_t counts[kBanks] = {};  // of entries in each bank
  std::int64_t all = 0;

  static constexpr int bank(std::int32_t column) { return column % kBanks; }
  // The position of an entry that has `rank` entries before it in its bank.
  constexpr std::int64_t position(std::int32_t rank, int bank) const {
    std::int64_t p = 0;
    for (int b = 0; b < kBanks; ++b) p += (counts[b] < rank ? counts[b] : rank) + (b < bank && counts[b] > rank);
    return p < all / 64 * 64 ? p / 64 * 64 + p % 16 * 4 + p % 64 / 16 : p;
  }
};

// Whether E and its mirror image are conjugated in op(A).
struct MirrorOps {
  bool entries, images;
};
inline MirrorOps mirror_ops(const Matrix& m, Op op) {
  const bool hermitian = m.structure->symmetry() == Symmetry::hermitian;
  const bool entries = op.conjugated != (op.transposed && hermitian);
  return {entries, entries != hermitian};
}

// ---- Implemented by each backend -----------------------------------------------------------------------------
// Whether the mirror image of every entry (i, j) of a square csr matrix with min(i, j) < column is stored, too.
bool entries_have_mirrors(const Matrix& csr, int64 column);
// Both have 32-bit columns.
Matrix ellcsr_from_rows(const Matrix& csr, int64 width, Leading leading);
Matrix rows_from_ellcsr(const Matrix& a);  // as csr
// outside, order: the leading columns have to be ascending and in range, and the first column of the rest has to follow
// them. `at` is the position in the array of values. If `mirrored` is not -1, entries of the rest that are not allowed
// next to the mirror images of columns below `mirrored` are outside, too.
Fault fault_in_ellcsr(const EllCsr<float>& a, int64 mirrored);
// order: the first leading column that stands after padding (-1) in its row. The order of the columns may be any.
Fault fault_in_padding(const EllCsr<float>& a);

}  // namespace diagsparse
