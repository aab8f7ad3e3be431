// ell: ELLPACK, every row padded to the longest one, and turned, so that entry w of all rows lie side by side.
//
//       matrix A (4 x 5)         indices = [ 0  0  1  2 ]   values = [ 1  9 10 11 ]   row_lengths = [ 2 3 3 3 ]
//     | 1  5  .  .  . |                    [ 1  1  2  3 ]            [ 5  2  3  4 ]
//     | 9  2  6  .  . |                    [-1  2  3  4 ]            [ *  6  7  8 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          A[i, indices[w, i]] = values[w, i];  * is padding
//
// indices: int32 (width, m; so n < 2^31), ascending in a row, then -1 where its padding begins; values: T (width, m);
// row_lengths, if asked for (ELLPACK-R): int32 (m). Kernels end a row where its padding begins: no value of the padding
// and no element of x is read for it.
// Bytes: width m (sizeof(T) + 4), and 4 m for row_lengths. width is the length of the longest row.
//
// Columns may be short (core/columns.hpp), of column_bits = 16 or 8: then the 4 is 2 or 1. Entries w of all rows are a
// line, so a chunk is entry w of 32 neighbouring rows; bases, if any: int32 (width ceil(m / 32)).
#pragma once

#include "core/columns.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

extern const Format ell;

// I: the type of indices.
template <class T, class I = std::int32_t>
struct Ell {
  int64 rows, cols, width, chunks;  // of a line
  Columns<I> columns;
  const std::int32_t* row_lengths;  // may be null
  const T* values;

  // Row p: its first place, and one beyond its last place. Places are step() apart.
  constexpr int64 row(int64 p) const { return p; }
  constexpr int64 begin(int64 p) const { return p; }
  constexpr int64 end(int64 p) const { return p + (row_lengths ? row_lengths[p] : width) * rows; }
  constexpr int64 step() const { return rows; }
  constexpr int64 chunk(int64 p, int64 w, int64 /*place*/) const { return w * chunks + p / kChunk; }  // of its entry w
  // As layouts/rows.hpp expects them.
  static constexpr const std::int32_t* row_order = nullptr;
  constexpr int64 stored_rows() const { return rows; }
  constexpr StoredRow stored_row(int64 p) const { return {p, p, p + width * rows, rows}; }
  constexpr std::int32_t column(int64 e) const { return columns.indices[e]; }
  constexpr bool follows(int64 /*p*/) const { return true; }

  static Ell of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Ell over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array &indices = arrays.at("indices"), *lengths = arrays.find("row_lengths");
    return {structure.rows,
            structure.cols,
            indices.shape.rows,
            chunks_in(structure.rows),
            Columns<I>::of(indices, arrays.find("bases")),
            lengths ? lengths->as<std::int32_t>() : nullptr,
            values};
  }
};

// The first `width` entries of each row of a csr matrix, as ell with columns of 32 bits.
Matrix ell_from_csr(const Matrix& csr, int64 width, bool with_lengths);

}  // namespace diagsparse
