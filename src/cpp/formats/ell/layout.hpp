// ell: ELLPACK. Every row is padded to the longest one, and the array is transposed, so that entries w of all rows are
// contiguous.
//
//       matrix A (4 x 5)         indices = [ 0  0  1  2 ]   values = [ 1  9 10 11 ]   row_lengths = [ 2 3 3 3 ]
//     | 1  5  .  .  . |                    [ 1  1  2  3 ]            [ 5  2  3  4 ]
//     | 9  2  6  .  . |                    [-1  2  3  4 ]            [ *  6  7  8 ]
//     | . 10  3  7  . |
//     | .  . 11  4  8 |          A[i, indices[w, i]] = values[w, i];  * is padding
//
// indices: int32 (width, m; so n < 2^31), ascending in a row, then -1 from its padding on; values: T (width, m);
// row_lengths (ELLPACK-R), optional: int32 (m). Kernels stop at the first padding of a row, and read neither the values
// of the padding nor elements of x for it.
// Bytes: width m (sizeof(T) + 4), and 4 m for row_lengths. width is the length of the longest row.
//
// Columns may be short (core/columns.hpp): with column_bits = 16 or 8, they need 2 bytes or 1 instead of 4. Entries w
// of all rows form a line, so a chunk consists of entries w of 32 neighbouring rows.
// bases, if any: int32 (width ceil(m / 32)).
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

  // Stored row p: its row in the matrix, and its positions begin(p), begin(p) + step(), ... up to end(p).
  constexpr int64 row(int64 p) const { return p; }
  constexpr int64 begin(int64 p) const { return p; }
  constexpr int64 end(int64 p) const { return p + (row_lengths ? row_lengths[p] : width) * rows; }
  constexpr int64 step() const { return rows; }
  // The chunk of entry w of stored row p.
  constexpr int64 chunk(int64 p, int64 w, int64 /*position*/) const { return w * chunks + p / kChunk; }
  // The interface that layouts/rows.hpp expects.
  static constexpr const std::int32_t* row_order = nullptr;
  static constexpr std::int32_t kLeastColumn = -1;  // of padding
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

// The first `width` entries of each row of a csr matrix as ell, with 32-bit columns.
Matrix ell_from_csr(const Matrix& csr, int64 width, bool with_lengths);

}  // namespace diagsparse
