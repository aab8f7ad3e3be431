// sell: sliced ELLPACK, SELL-C-sigma. Slices of C rows, each padded to its own longest row and turned, so that entry w
// of its rows lie side by side.
//
//       matrix A (4 x 5), C = 2      indices = [ 0  0 ]   values = [ 1  9 ]   slice_indptr = [ 0 6 12 ]
//     | 1  5  .  .  . |                        [ 1  1 ]            [ 5  2 ]
//     | 9  2  6  .  . |                        [-1  2 ]            [ *  6 ]   row_lengths  = [ 2 3 3 3 ]
//     | . 10  3  7  . |                        [ 1  2 ]            [10 11 ]
//     | .  . 11  4  8 |                        [ 2  3 ]            [ 3  4 ]
//                                              [ 3  4 ]            [ 7  8 ]
//
// Entry w of stored row p lies at place slice_indptr[p / C] + w C + p % C of both arrays; * is padding. The last slice
// has C rows too: those beyond m are padding.
// indices: int32 (places / C, C; so n < 2^31), ascending in a row, then -1 where its padding begins; values: T, as
// many; slice_indptr: int64 (slices + 1), in places; row_order, where rows are sorted: int32 (m), the row of A that is
// stored row p. In each window of sigma rows these are sorted by descending length, stable: sigma = 2 would swap the
// first two above; row_lengths, if asked for: int32 (m), of stored row p. Kernels end a row where its padding begins:
// no value of the padding and no element of x is read for it. Bytes: places (sizeof(T) + 4) + 8 (slices + 1), 4 m for
// row_order and 4 m for row_lengths.
//
// Columns may be short (core/columns.hpp), of column_bits = 16 or 8: then the 4 of a place is 2 or 1. All places are
// one line, so a chunk is 32 neighbouring places, whatever C is; bases, if any: int32 (ceil(places / 32)).
//
// Monakov, Lokhmotov and Avetisyan, "Automatically tuning sparse matrix-vector multiplication for GPU architectures",
// HiPEAC 2010; Kreutzer, Hager, Wellein, Fehske and Bishop, "A unified sparse matrix data format for efficient general
// sparse matrix-vector multiplication on modern processors with wide SIMD units", SIAM J. Sci. Comput. 36 (2014).
#pragma once

#include <optional>

#include "core/columns.hpp"
#include "layouts/rows.hpp"

namespace diagsparse {

extern const Format sell;

constexpr int64 kHighestSlice = 1024;

inline int64 slices_of(int64 rows, int64 height) { return rows / height + (rows % height != 0); }

// I: the type of indices.
template <class T, class I = std::int32_t>
struct Sell {
  int64 rows, cols, height, slices;
  const int64* slice_indptr;
  Columns<I> columns;
  const std::int32_t *row_order, *row_lengths;  // may be null
  const T* values;

  // Stored row p: which row of A it is, its first place, and a place beyond its last one. Places are step() apart.
  constexpr int64 row(int64 p) const { return row_order ? row_order[p] : p; }
  constexpr int64 begin(int64 p) const { return slice_indptr[p / height] + p % height; }
  constexpr int64 step() const { return height; }
  constexpr int64 chunk(int64 /*p*/, int64 /*w*/, int64 place) const { return place / kChunk; }  // of its entry w
  constexpr int64 end(int64 p) const {
    return row_lengths ? begin(p) + row_lengths[p] * height : slice_indptr[p / height + 1];
  }
  // As layouts/rows.hpp expects them.
  constexpr int64 stored_rows() const { return slices * height; }
  constexpr StoredRow stored_row(int64 p) const {
    return {p < rows ? row(p) : -1, begin(p), slice_indptr[p / height + 1] + p % height, height};
  }
  constexpr std::int32_t column(int64 e) const { return columns.indices[e]; }
  constexpr bool follows(int64 /*p*/) const { return true; }

  static Sell of(const Matrix& m) { return over(*m.structure, m.values.as<T>()); }
  static Sell over(const Structure& structure, const T* values) {
    const auto& arrays = static_cast<const Indices&>(structure);
    const Array &indices = arrays.at("indices"), *order = arrays.find("row_order"),
                *lengths = arrays.find("row_lengths");
    const int64 height = indices.shape.cols;
    return {structure.rows,
            structure.cols,
            height,
            slices_of(structure.rows, height),
            arrays.at("slice_indptr").as<int64>(),
            Columns<I>::of(indices, arrays.find("bases")),
            order ? order->as<std::int32_t>() : nullptr,
            lengths ? lengths->as<std::int32_t>() : nullptr,
            values};
  }
};

// How the rows of a csr matrix are cut into slices of `height` rows, sorted in windows of `sigma`; 1: as they are.
struct Slices {
  std::optional<Array> row_order;
  Array indptr;
  int64 places;
};
Slices cut_into_slices(const Matrix& csr, int64 height, int64 sigma);
// How many places such slices of op(a) have.
int64 places_in_slices(const Matrix& a, Op op, int64 height, int64 sigma);

// ---- Each device's own -----------------------------------------------------------------------------
// Writes slice_indptr and returns the places; `row_order` may be null.
int64 place_slices(const Matrix& csr, int64 height, const std::int32_t* row_order, int64* slice_indptr);
// slice_indptr rises from 0 to `places` by multiples of the height.
Fault fault_in_slices(const Sell<float>& a, int64 places);

}  // namespace diagsparse
