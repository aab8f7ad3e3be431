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
// csr_indices[e] for csr_indptr[i] <= e < csr_indptr[i + 1]. Columns ascend along the whole row.
// ell_indices: int32 (m, width), -1 in the padding; csr_indices: int32 (rest); csr_indptr: int64 (m + 1);
// values: T (m width + rest).
// Bytes: width m (sizeof(T) + 4) + rest (sizeof(T) + 4) + 8 (m + 1).
//
// The boundary counts the leading entries of a row, or is the column before which they lie; then the row with most of
// them makes the width. By default it is the length of the shortest row: as much as fits without padding.
// Mahmoud, Hoffmann and Reza (2018), algorithm 6.
//
// Columns may be short (core/columns.hpp), of column_bits = 16, or 8 for those that lead and 16 for the rest; then the
// width is a multiple of 4. Rows of ell_indices are lines, with ell_bases; csr_indices are one line, with csr_bases. A
// leading part ends where the bits reach no further: the rest of the row takes over. So
//     width m (sizeof(T) + b) + rest (sizeof(T) + 2) + 8 (m + 1) bytes, b = 1 or 2, and 4 for each chunk with a base.
#pragma once

#include <type_traits>

#include "core/columns.hpp"
#include "core/gate.hpp"
#include "core/summary.hpp"

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

// ---- Each device's own -----------------------------------------------------------------------------
// Columns of 32 bits, in and out.
Matrix ellcsr_from_rows(const Matrix& csr, int64 width, Leading leading);
Matrix rows_from_ellcsr(const Matrix& a);  // as csr
// outside, order: of the leading columns, and of the first one of the rest, told at their place in the values.
Fault fault_in_ellcsr(const EllCsr<float>& a);

}  // namespace diagsparse
