// pell: a toy for tests/package/test_toy_format.py. Every row padded to the longest one, row after row.
//
//       matrix A (2 x 3)         indices = [ 0 -1 ]   values = [ 1 * ]
//     | 1  .  . |                          [ 1  2 ]            [ 2 3 ]
//     | .  2  3 |
//
// indices: int32 (m, width), ascending in a row, then -1; values: T (m, width).   Bytes: m width (sizeof(T) + 4).
#pragma once

#include "core/columns.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

extern const Format pell;

template <class T, class I = std::int32_t>
struct Pell {
  int64 rows, cols, width;
  Columns<I> columns;
  const T* values;

  static constexpr const std::int32_t *row_order = nullptr, *row_lengths = nullptr;
  static constexpr std::int32_t kLeastColumn = -1;  // of padding
  constexpr int64 stored_rows() const { return rows; }
  constexpr StoredRow stored_row(int64 p) const { return {p, p * width, (p + 1) * width, 1}; }
  constexpr std::int32_t column(int64 e) const { return columns.indices[e]; }
  constexpr bool follows(int64) const { return true; }
  // For the GPU's kernel of formats whose rows are stored at equal steps.
  constexpr int64 row(int64 p) const { return p; }
  constexpr int64 begin(int64 p) const { return p * width; }
  constexpr int64 end(int64 p) const { return (p + 1) * width; }
  constexpr int64 step() const { return 1; }
  constexpr int64 chunk(int64, int64, int64 position) const { return position / kChunk; }

  static Pell of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Pell over(const Structure& structure, const T* values) {
    const Array& indices = static_cast<const Indices&>(structure).at("indices");
    return {structure.rows, structure.cols, indices.shape.cols, Columns<I>::of(indices, nullptr), values};
  }
};

}  // namespace diagsparse
